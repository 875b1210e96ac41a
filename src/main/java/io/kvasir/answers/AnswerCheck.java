package io.kvasir.answers;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.http.ApiPath;
import io.kvasir.http.SseEvents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether an answer may be kept: whole, without an error, ended by the model itself and not by an abort. It
 * reads what the client was sent and trusts nothing else, so that no fault in between can put half an answer into the
 * cache. Thread-safe.
 */
final class AnswerCheck {
  /** Reasons to end that are the model's own or the request's; all others (abort, error …) are the engine's trouble. */
  private static final Set<String> GOOD_ENDS = Set.of(
      "stop", "length", "tool_calls", "function_call", "content_filter",
      "end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal",
      "completed", "incomplete");

  private static final Set<String> LAST_EVENTS = Set.of("message_stop", "response.completed", "response.incomplete");
  private static final byte[] DONE = "[DONE]".getBytes(StandardCharsets.US_ASCII);
  private static final Set<String> BAD_EVENTS = Set.of("error", "response.failed");

  private final JsonMapper mapper = new JsonMapper();

  AnswerCheck() {
    mapper.getFactory().setStreamReadConstraints(
        StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build());
  }

  /** Whether bodies of this type can be judged at all. */
  static boolean supports(String contentType) {
    return isEvents(contentType) || bare(contentType).equals("application/json");
  }

  static boolean isEvents(String contentType) {
    return bare(contentType).equals("text/event-stream");
  }

  private static String bare(String contentType) {
    int parameters = contentType.indexOf(';');
    return (parameters < 0 ? contentType : contentType.substring(0, parameters)).strip().toLowerCase(Locale.ROOT);
  }

  /** What is wrong with an answer, for metrics; empty when it is to be kept. */
  Optional<String> fault(ApiPath api, String contentType, byte[] body) {
    try {
      Findings found = isEvents(contentType) ? events(body) : document(body, 0, body.length);
      return found.failed ? Optional.of("error")
          : !found.complete ? Optional.of("truncated")
          : found.badEnd || (api.generates() && !found.goodEnd) ? Optional.of("unfinished")
          : Optional.empty();
    } catch (IOException malformed) {
      return Optional.of("truncated");
    }
  }

  /** Whether a stream that ends in {@code tail}, its last bytes or all of them, is complete. */
  boolean isComplete(byte[] tail) {
    try {
      return events(tail).complete;
    } catch (IOException malformed) {
      return false;
    }
  }

  /** How an answer ended, as its documents state. */
  private static final class Findings {
    private boolean failed;
    private boolean complete;
    private boolean goodEnd;
    private boolean badEnd;
    private @Nullable String type;

    void end(JsonNode reason) {
      if (reason.isTextual()) {
        boolean good = GOOD_ENDS.contains(reason.textValue());
        goodEnd |= good;
        badEnd |= !good;
      }
    }
  }

  private Findings document(byte[] bytes, int from, int to) throws IOException {
    Findings found = new Findings();
    read(bytes, from, to, found);
    found.complete = true;
    return found;
  }

  private Findings events(byte[] body) throws IOException {
    Findings found = new Findings();
    SseEvents events = new SseEvents((name, data) -> event(name, data, found));
    events.accept(body, 0, body.length);
    events.end();
    return found;
  }

  private void event(String name, byte[] data, Findings found) throws IOException {
    if (isDone(data)) {
      found.complete = true;
      return;
    }
    found.type = null;
    read(data, 0, data.length, found);
    String type = found.type != null ? found.type : name;
    found.failed |= BAD_EVENTS.contains(type);
    found.complete |= LAST_EVENTS.contains(type);
  }

  private static boolean isDone(byte[] data) {
    return data.length >= DONE.length && Arrays.equals(data, 0, DONE.length, DONE, 0, DONE.length);
  }

  /** Reads one document whole; what has no bearing on its end is skipped, not built. */
  private void read(byte[] bytes, int from, int to, Findings found) throws IOException {
    try (JsonParser parser = mapper.getFactory().createParser(bytes, from, to - from)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        parser.skipChildren();
      } else {
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          String name = parser.currentName();
          parser.nextToken();
          switch (name) {
            case "error" -> {
              found.failed |= parser.currentToken() != JsonToken.VALUE_NULL;
              parser.skipChildren();
            }
            case "choices" -> tree(parser).forEach(choice -> found.end(choice.path("finish_reason")));
            case "stop_reason", "status" -> found.end(tree(parser));
            case "delta" -> found.end(tree(parser).path("stop_reason"));
            case "response" -> found.end(onlyEnds(tree(parser).path("status")));
            case "type" -> found.type = tree(parser).asText();
            default -> parser.skipChildren();
          }
        }
      }
      if (parser.currentToken() == null || parser.nextToken() != null) {
        throw new IOException("not one whole document");
      }
    }
  }

  /** Events under way carry the response as it stands then: queued and in progress are no ends. */
  private static JsonNode onlyEnds(JsonNode status) {
    return switch (status.asText()) {
      case "queued", "in_progress" -> status.path("none");
      default -> status;
    };
  }

  private JsonNode tree(JsonParser parser) throws IOException {
    JsonNode tree = mapper.readTree(parser);
    return tree == null ? mapper.missingNode() : tree;
  }
}
