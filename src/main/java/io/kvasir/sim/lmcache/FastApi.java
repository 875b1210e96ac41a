package io.kvasir.sim.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.SimHttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Requests read and refused as FastAPI, which serves LMCache's HTTP APIs, reads and refuses them. */
final class FastApi {
  static final ObjectMapper JSON = new ObjectMapper();

  private FastApi() {}

  /** What is answered: a status and, but for 204, a body. */
  record Reply(int status, @Nullable JsonNode body) {
    static Reply ok(JsonNode body) {
      return new Reply(200, body);
    }
  }

  /** How one request is answered. */
  interface Route {
    Reply answer(SimHttpExchange exchange) throws HttpException;
  }

  /** An answer that is an error. */
  static final class HttpException extends Exception {
    private static final long serialVersionUID = 1;
    private final int status;
    private final transient JsonNode detail;

    HttpException(int status, JsonNode detail) {
      super(detail.toString(), null, false, false);
      this.status = status;
      this.detail = detail;
    }

    HttpException(int status, String detail) {
      this(status, JSON.getNodeFactory().textNode(detail));
    }
  }

  static void serve(SimHttpExchange exchange, Route route) throws IOException {
    Reply answer;
    try {
      answer = route.answer(exchange);
    } catch (HttpException e) {
      answer = new Reply(e.status, JSON.createObjectNode().set("detail", e.detail));
    }
    JsonNode body = answer.body();
    exchange.reply(
        answer.status(),
        body == null ? "" : "application/json",
        body == null ? new byte[0] : body.toString().getBytes(StandardCharsets.UTF_8));
  }

  static HttpException notFound() {
    return new HttpException(404, "Not Found");
  }

  static HttpException notAllowed() {
    return new HttpException(405, "Method Not Allowed");
  }

  static JsonNode parse(byte[] body) throws HttpException {
    JsonNode json;
    try {
      json = JSON.readTree(body);
    } catch (IOException e) {
      throw invalid("json_invalid", "body", "", "JSON decode error", JSON.createObjectNode());
    }
    if (!json.isObject()) {
      throw invalid(
          "model_attributes_type", "body", "", "Input should be a valid dictionary or object to extract fields from",
          json);
    }
    return json;
  }

  static String text(JsonNode body, String field) throws HttpException {
    JsonNode value = body.get(field);
    if (value == null) {
      throw missing(field, body);
    }
    if (!value.isTextual()) {
      throw invalid("string_type", "body", field, "Input should be a valid string", value);
    }
    return value.textValue();
  }

  static int integer(JsonNode body, String field) throws HttpException {
    JsonNode value = body.get(field);
    if (value == null) {
      throw missing(field, body);
    }
    if (!value.isIntegralNumber() || !value.canConvertToInt()) {
      throw invalid("int_type", "body", field, "Input should be a valid integer", value);
    }
    return value.intValue();
  }

  static int[] tokens(JsonNode body, String field) throws HttpException {
    JsonNode list = body.get(field);
    if (list == null) {
      throw missing(field, body);
    }
    if (!list.isArray()) {
      throw invalid("list_type", "body", field, "Input should be a valid list", list);
    }
    int[] tokens = new int[list.size()];
    for (int i = 0; i < tokens.length; i++) {
      JsonNode token = list.get(i);
      if (!token.isIntegralNumber() || !token.canConvertToLong()) {
        throw invalid("int_type", "body", field, "Input should be a valid integer", token);
      }
      tokens[i] = (int) token.longValue();
    }
    return tokens;
  }

  static HttpException missing(String field, JsonNode body) {
    return invalid("missing", "body", field, "Field required", body);
  }

  /** About the first field that is wrong; none when {@code field} is empty. */
  static HttpException invalid(String type, String where, String field, String message, JsonNode input) {
    ArrayNode detail = JSON.createArrayNode();
    ObjectNode one = detail.addObject().put("type", type);
    ArrayNode location = one.putArray("loc").add(where);
    if (!field.isEmpty()) {
      location.add(field);
    }
    one.put("msg", message).set("input", input);
    return new HttpException(422, detail);
  }
}
