package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.MessageObject.Calls;
import io.kvasir.http.ByteSink;
import java.io.IOException;

/**
 * Chunks of a chat as the events of an Anthropic message: one block is open at a time, and a chunk of another kind
 * begins the next. One thread at a time.
 */
final class MessagesStream extends ChatStream {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final String TEXT = "text";
  private static final String THINKING = "thinking";

  private String id = "";
  private String open = "";
  private int index = -1;
  /** Those of the call that began last, as much as is kept: longer ones are no JSON, as if they had been cut. */
  private final StringBuilder lastArguments = new StringBuilder();
  private Calls calls = Calls.NONE;
  private JsonNode choice = JSON.objectNode();
  private JsonNode usage = JSON.objectNode();

  MessagesStream(ByteSink client) {
    super(client, false);
  }

  /** The rest of a message whose block of text is open. */
  MessagesStream(ByteSink client, int block) {
    super(client, true);
    open = TEXT;
    index = block;
  }

  @Override
  void begin(JsonNode chunk) throws IOException {
    id = chunk.path("id").asText();
    ObjectNode start = JSON.objectNode().put("type", "message_start");
    ObjectNode message = MessageObject.of(chunk);
    message.putArray("content");
    message.putNull("stop_reason").putNull("stop_sequence").set("usage", MessageObject.usage(usage));
    start.set("message", message);
    emit(start);
  }

  @Override
  void reasoning(String text) throws IOException {
    block(THINKING, JSON.objectNode().put("type", THINKING).put(THINKING, "").put("signature", ""));
    delta(JSON.objectNode().put("type", "thinking_delta").put(THINKING, text));
  }

  @Override
  void text(String text) throws IOException {
    block(TEXT, JSON.objectNode().put("type", TEXT).put(TEXT, ""));
    delta(JSON.objectNode().put("type", "text_delta").put(TEXT, text));
  }

  @Override
  void call(int number, String callId, String name, String arguments) throws IOException {
    calls = Calls.CUT;
    ObjectNode use = JSON.objectNode().put("type", "tool_use").put("id", callId).put("name", name);
    use.putObject("input");
    if (block("call " + number, use)) {
      lastArguments.setLength(0);
    }
    if (!arguments.isEmpty()) {
      lastArguments.append(arguments, 0, Math.min(arguments.length(), MAX_KEPT - lastArguments.length()));
      delta(JSON.objectNode().put("type", "input_json_delta").put("partial_json", arguments));
    }
  }

  @Override
  void finish(JsonNode last) {
    choice = last;
  }

  @Override
  void count(JsonNode counts) {
    usage = counts;
  }

  @Override
  void done() throws IOException {
    close();
    ObjectNode end = JSON.objectNode();
    MessageObject.stop(end, choice, calls == Calls.NONE ? calls : Calls.of(lastArguments.toString()));
    ObjectNode delta = JSON.objectNode().put("type", "message_delta");
    delta.set("delta", end);
    delta.set("usage", MessageObject.usage(usage));
    emit(delta);
    emit(JSON.objectNode().put("type", "message_stop"));
  }

  @Override
  void failed(String message) throws IOException {
    emit(MessageObject.error("api_error", message));
  }

  /** Whether it is another block than before. */
  private boolean block(String kind, ObjectNode content) throws IOException {
    if (open.equals(kind)) {
      return false;
    }
    close();
    open = kind;
    index++;
    ObjectNode start = JSON.objectNode().put("type", "content_block_start").put("index", index);
    start.set("content_block", content);
    emit(start);
    return true;
  }

  private void delta(ObjectNode delta) throws IOException {
    ObjectNode event = JSON.objectNode().put("type", "content_block_delta").put("index", index);
    event.set("delta", delta);
    emit(event);
  }

  private void close() throws IOException {
    if (open.isEmpty()) {
      return;
    }
    if (open.equals(THINKING)) {
      delta(JSON.objectNode().put("type", "signature_delta").put("signature", MessageObject.signature(id, index)));
    }
    emit(JSON.objectNode().put("type", "content_block_stop").put("index", index));
    open = "";
  }
}
