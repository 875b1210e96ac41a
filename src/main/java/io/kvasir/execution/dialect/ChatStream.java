package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.ByteSink;
import io.kvasir.http.SseEvents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A parser of a chat's event stream, for its translation into another API's. One thread at a time. */
abstract class ChatStream implements Translation.Stream {
  private static final byte[] DONE = "[DONE]".getBytes(StandardCharsets.US_ASCII);

  /** The most characters of an answer that are kept for later: more than any model writes. */
  static final int MAX_KEPT = 8 << 20;

  private final ByteSink client;
  private final SseEvents events = new SseEvents((_, data) -> event(data));
  /** Text that came while a call was open, which goes on behind it. */
  private final StringBuilder held = new StringBuilder();
  private boolean started;
  private boolean ended;
  /** The number of the call that is open, negative when none is. */
  private int openCall = -1;

  /** A parser of a whole stream, or of one whose begin the client has: {@code started}. */
  ChatStream(ByteSink client, boolean started) {
    this.client = client;
    this.started = started;
  }

  @Override
  public final void accept(byte[] bytes, int offset, int length) throws IOException {
    events.accept(bytes, offset, length);
  }

  @Override
  public final void end() throws IOException {
    events.end();
  }

  /** The first chunk has arrived. */
  abstract void begin(JsonNode chunk) throws IOException;

  /** A piece of the model's reasoning. */
  abstract void reasoning(String text) throws IOException;

  /** A piece of the answer. */
  abstract void text(String text) throws IOException;

  /** A piece of a tool call; its first one has the id and the name. Calls come one after the other. */
  abstract void call(int number, String id, String name, String arguments) throws IOException;

  /** The choice with the reason why the response ends. */
  abstract void finish(JsonNode choice);

  /** The engine's usage counts. */
  abstract void count(JsonNode usage);

  /** The answer came to its end. */
  abstract void done() throws IOException;

  /** The engine sent an error. */
  abstract void failed(String message) throws IOException;

  final void emit(ObjectNode event) throws IOException {
    byte[] bytes = ChatAnswer.event(event);
    client.write(bytes, 0, bytes.length);
  }

  private void event(byte[] data) throws IOException {
    if (ended) {
      return;
    }
    if (Arrays.equals(data, DONE)) {
      ended = true;
      if (started) {
        endCall();
        done();
      }
      return;
    }
    JsonNode chunk = ChatAnswer.read(data);
    String error = ChatAnswer.error(chunk);
    if (error != null) {
      fail(error);
      return;
    }
    if (chunk.path("usage").isObject()) {
      count(chunk.path("usage"));
    }
    if (!started) {
      started = true;
      begin(chunk);
    }
    JsonNode choice = chunk.path("choices").path(0);
    JsonNode delta = choice.path("delta");
    String reasoning = ChatAnswer.reasoning(delta);
    if (!reasoning.isEmpty()) {
      endCall();
      reasoning(reasoning);
    }
    String text = delta.path("content").asText("");
    if (!text.isEmpty() && openCall >= 0) {
      hold(text);
    } else if (!text.isEmpty()) {
      text(text);
    }
    for (JsonNode call : delta.path("tool_calls")) {
      piece(call.path("index").asInt(0), call.path("id").asText(""), call.path("function"));
    }
    if (choice.hasNonNull("finish_reason")) {
      finish(choice);
    }
  }

  private void hold(String text) throws IOException {
    if (held.length() + text.length() > MAX_KEPT) {
      fail("the worker's text among calls of tools is too long");
      return;
    }
    held.append(text);
  }

  private void fail(String why) throws IOException {
    if (!ended) {
      ended = true;
      failed(why);
    }
  }

  /** Some engines repeat a call's id, but none its name. */
  private void piece(int number, String id, JsonNode function) throws IOException {
    if (ended) {
      return;
    }
    String name = function.path("name").asText("");
    String arguments = function.path("arguments").asText("");
    if (number != openCall && name.isEmpty()) {
      if (!arguments.isEmpty()) {
        // To leave it out would have the client make a call with some of its arguments.
        fail("the worker went on with a call of a tool that was over");
      }
      return;
    }
    if (number != openCall) {
      endCall();
      openCall = number;
    }
    call(number, id, name, arguments);
  }

  private void endCall() throws IOException {
    openCall = -1;
    if (!held.isEmpty()) {
      String text = held.toString();
      held.setLength(0);
      text(text);
    }
  }
}
