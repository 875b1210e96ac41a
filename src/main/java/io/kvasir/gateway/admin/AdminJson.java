package io.kvasir.gateway.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.Headers;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** What the admin API's handlers say and hear: JSON, with errors as {@code {"error": {"message": …}}}. */
final class AdminJson {
  private static final Headers JSON = Headers.of("Content-Type", "application/json");
  private static final JsonMapper MAPPER =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();

  private AdminJson() {}

  static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }

  static Answer answer(int status, ObjectNode body) {
    return new Answer.Whole(status, JSON, bytes(body));
  }

  static Answer error(int status, String message) {
    return answer(status, message(message));
  }

  static Answer wrongMethod(Exchange exchange, String allowed) {
    return new Answer.Whole(
        405,
        JSON.toBuilder().add("Allow", allowed).build(),
        bytes(message("this path does not take %s, but %s".formatted(exchange.method(), allowed))));
  }

  /**
   * A request's body.
   *
   * @throws IllegalArgumentException when it is not JSON; the message says so and where
   */
  static JsonNode read(byte[] body) {
    try {
      return MAPPER.readTree(body);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(
          "the body is not valid JSON: %s at line %d, column %d".formatted(
              e.getOriginalMessage(), e.getLocation().getLineNr(), e.getLocation().getColumnNr()),
          e);
    } catch (IOException e) {
      throw new AssertionError("reading an array", e);
    }
  }

  private static ObjectNode message(String message) {
    ObjectNode body = object();
    body.putObject("error").put("message", message);
    return body;
  }

  private static byte[] bytes(ObjectNode body) {
    return body.toString().getBytes(StandardCharsets.UTF_8);
  }
}
