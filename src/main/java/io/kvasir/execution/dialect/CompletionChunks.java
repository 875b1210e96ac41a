package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ApiPath;
import java.nio.charset.StandardCharsets;

/** A buffered completion as the event stream of its client. */
final class CompletionChunks {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private CompletionChunks() {}

  /** The stream: the answer in one chunk, usage in another where the request has it, the terminator. */
  static byte[] of(ClientRequest request, byte[] answer) {
    JsonNode whole = ChatAnswer.read(answer);
    boolean chat = request.api() == ApiPath.CHAT;
    JsonNode choice = whole.path("choices").path(0);
    ObjectNode chunk = envelope(whole, chat);
    ObjectNode part = chunk.putArray("choices").addObject().put("index", 0);
    if (chat) {
      JsonNode message = choice.path("message");
      part.set("delta", message.isObject() ? numbered((ObjectNode) message) : JSON.objectNode());
    } else {
      part.set("text", choice.path("text"));
    }
    if (choice.has("logprobs")) {
      part.set("logprobs", choice.get("logprobs"));
    }
    part.set("finish_reason", choice.path("finish_reason"));
    JsonNode options = request.members().value("stream_options");
    boolean usage = options.path("include_usage").asBoolean(false);
    if (usage && options.path("continuous_usage_stats").asBoolean(false)) {
      chunk.set("usage", whole.path("usage"));
    }
    StringBuilder stream = new StringBuilder().append("data: ").append(chunk).append("\n\n");
    if (usage) {
      ObjectNode counts = envelope(whole, chat);
      counts.putArray("choices");
      counts.set("usage", whole.path("usage"));
      stream.append("data: ").append(counts).append("\n\n");
    }
    return stream.append("data: [DONE]\n\n").toString().getBytes(StandardCharsets.UTF_8);
  }

  private static ObjectNode envelope(JsonNode whole, boolean chat) {
    ObjectNode chunk = JSON.objectNode();
    chunk.set("id", whole.path("id"));
    chunk.put("object", chat ? "chat.completion.chunk" : "text_completion");
    chunk.set("created", whole.path("created"));
    chunk.set("model", whole.path("model"));
    return chunk;
  }

  /** In a stream, calls carry their number. */
  private static ObjectNode numbered(ObjectNode message) {
    ObjectNode delta = message.deepCopy();
    int number = 0;
    for (JsonNode call : delta.path("tool_calls")) {
      ((ObjectNode) call).put("index", number++);
    }
    return delta;
  }
}
