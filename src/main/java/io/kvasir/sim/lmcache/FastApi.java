package io.kvasir.sim.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.HttpExchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Requests read and refused as FastAPI, which serves LMCache's HTTP APIs, reads and refuses them. */
final class FastApi {
  static final ObjectMapper JSON = new ObjectMapper();

  private FastApi() {}

  /** What is answered: a status and, but for 204, a body. */
  record Answer(int status, @Nullable JsonNode body) {
    static Answer ok(JsonNode body) {
      return new Answer(200, body);
    }
  }

  /** How one request is answered. */
  interface Route {
    Answer answer(HttpExchange exchange) throws Refused;
  }

  /** An answer that is an error. */
  static final class Refused extends Exception {
    private static final long serialVersionUID = 1;
    private final int status;
    private final transient JsonNode detail;

    Refused(int status, JsonNode detail) {
      super(detail.toString(), null, false, false);
      this.status = status;
      this.detail = detail;
    }

    Refused(int status, String detail) {
      this(status, JSON.getNodeFactory().textNode(detail));
    }
  }

  static void serve(HttpExchange exchange, Route route) throws IOException {
    Answer answer;
    try {
      answer = route.answer(exchange);
    } catch (Refused e) {
      answer = new Answer(e.status, JSON.createObjectNode().set("detail", e.detail));
    }
    JsonNode body = answer.body();
    exchange.reply(
        answer.status(),
        body == null ? "" : "application/json",
        body == null ? new byte[0] : body.toString().getBytes(StandardCharsets.UTF_8));
  }

  static Refused notFound() {
    return new Refused(404, "Not Found");
  }

  static Refused notAllowed() {
    return new Refused(405, "Method Not Allowed");
  }

  static JsonNode parse(byte[] body) throws Refused {
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

  static String text(JsonNode body, String field) throws Refused {
    JsonNode value = body.get(field);
    if (value == null) {
      throw missing(field, body);
    }
    if (!value.isTextual()) {
      throw invalid("string_type", "body", field, "Input should be a valid string", value);
    }
    return value.textValue();
  }

  static int integer(JsonNode body, String field) throws Refused {
    JsonNode value = body.get(field);
    if (value == null) {
      throw missing(field, body);
    }
    if (!value.isIntegralNumber() || !value.canConvertToInt()) {
      throw invalid("int_type", "body", field, "Input should be a valid integer", value);
    }
    return value.intValue();
  }

  static int[] tokens(JsonNode body, String field) throws Refused {
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

  static Refused missing(String field, JsonNode body) {
    return invalid("missing", "body", field, "Field required", body);
  }

  /** About the first field that is wrong; none when {@code field} is empty. */
  static Refused invalid(String type, String where, String field, String message, JsonNode input) {
    ArrayNode detail = JSON.createArrayNode();
    ObjectNode one = detail.addObject().put("type", type);
    ArrayNode location = one.putArray("loc").add(where);
    if (!field.isEmpty()) {
      location.add(field);
    }
    one.put("msg", message).set("input", input);
    return new Refused(422, detail);
  }
}
