package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ApiPath;
import io.kvasir.http.SseEvents;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** An error inside an event stream whose head has been sent, as the clients of an API read it. */
public final class ErrorEvent {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private static final byte[] NAME = "event: error\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] DONE = SseEvents.event("[DONE]".getBytes(StandardCharsets.US_ASCII));

  private ErrorEvent() {}

  /**
   * The event of what would have been the answer.
   *
   * @param body an error's, as the API has it
   * @param number of the event among those of its stream, from 0, for the API that numbers them
   */
  public static byte[] of(ApiPath api, ObjectNode body, int number) {
    return switch (api) {
      case MESSAGES -> named(body);
      case RESPONSES -> named(numbered(body, number));
      default -> SseEvents.event(bytes(body));
    };
  }

  /** The only event of a stream, and its terminator where the API has one. */
  public static byte[] only(ApiPath api, ObjectNode body) {
    byte[] event = of(api, body, 0);
    return api == ApiPath.MESSAGES || api == ApiPath.RESPONSES ? event : joined(event, DONE);
  }

  /** The event of a failure that no engine has told of, at a status that would have been the answer's. */
  public static byte[] of(ApiPath api, int status, String message, int number) {
    ObjectNode body = JSON.objectNode();
    if (api == ApiPath.MESSAGES) {
      body = MessageObject.error(MessagesTranslation.errorType(status), message);
    } else {
      body.putObject("error").put("message", message).put("type", "server_error").putNull("param").put("code", status);
    }
    return of(api, body, number);
  }

  /**
   * The Responses API's event has its details flat, as OpenAI documents it, and as a member, for which alone openai's
   * clients raise an error.
   */
  private static ObjectNode numbered(ObjectNode body, int number) {
    ObjectNode error = body.path("error") instanceof ObjectNode details ? details : body;
    JsonNode code = error.path("code").isTextual() ? error.path("code") : error.path("type");
    ObjectNode event = JSON.objectNode()
        .put("type", "error")
        .put("code", code.asText("server_error"))
        .put("message", error.path("message").asText("the request failed"))
        .put("param", error.path("param").asText(null))
        .put("sequence_number", number);
    return event.set("error", error);
  }

  private static byte[] named(ObjectNode body) {
    return joined(NAME, SseEvents.event(bytes(body)));
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  private static byte[] bytes(ObjectNode json) {
    return json.toString().getBytes(StandardCharsets.UTF_8);
  }
}
