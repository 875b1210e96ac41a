package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.kvasir.execution.dialect.MessagesTranslation;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.execution.stream.ChoiceListener.Part;
import io.kvasir.http.SseEvents;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The events of Anthropic's Messages API of several workers as those of one. Before any text the next worker is sent
 * the request again, and what the client has of its message is left out; behind a text it answers a chat, which is
 * translated into the block that is open. One thread at a time.
 */
final class MessageEvents implements StitchedEvents {
  private static final String LENGTH = "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}";
  private static final byte[] STOP = ascii("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");

  private final PartialAnswer answer;
  private final BlockScan blocks;
  private final EventData reader = new EventData();
  private final ByteArrayOutputStream translated = new ByteArrayOutputStream();
  /** Translates the rest of a text; null while all events are the engine's own. */
  private Translation.@Nullable Stream rest;
  /** Whether the current worker got the request again, for an answer that has begun without a text. */
  private boolean requestedAgain;
  /** Makes a chat's events go on from the text; null while no worker does. */
  private @Nullable ContinuedEvents continued;

  /** A stream about to begin, of which {@code answer} notes what passes. */
  MessageEvents(PartialAnswer answer) {
    this.answer = answer;
    this.blocks = new BlockScan(answer);
  }

  @Override
  public byte @Nullable [] edit(byte[] bytes, int from, int to, AnswerTap tap) throws IOException {
    ContinuedEvents chat = continued;
    if (chat != null) {
      byte[] data = reader.of(bytes, from, to);
      return data == null ? null : EventData.isDone(data) ? endOfChat() : ofChat(data, chat.edit(data, tap));
    }
    blocks.read(bytes, from, to);
    boolean repeated = requestedAgain && isRepeated(bytes);
    if (!repeated) {
      blocks.note(bytes);
      if (requestedAgain) {
        checkBlock();
      }
    }
    answer.eventPassed(tap);
    return repeated ? WholeEvents.Editor.NOTHING : null;
  }

  @Override
  public void nextWorker(RestOfStream next) {
    requestedAgain = !answer.hasText();
    continued = requestedAgain ? null : new ContinuedEvents(answer, next, true, false, null);
  }

  @Override
  public byte[] failure(byte[] begun, byte[] bytes, int from, int to) throws IOException {
    if (continued == null) {
      return StitchedEvents.super.failure(begun, bytes, from, to);
    }
    // What a chat has behind its error is of no use to the client of a message.
    byte[] error = begun.length == 0 ? reader.of(bytes, from, to) : null;
    if (error == null) {
      return begun;
    }
    translate(MessagesTranslation.rest(this::take, blocks.block()), error);
    return taken();
  }

  @Override
  public byte[] end(boolean withUsage) throws IOException {
    if (rest == null && answer.finished()) {
      return STOP;
    }
    if (!answer.finished()) {
      translate(rest(), ascii(LENGTH));
    }
    return endOfChat();
  }

  /** Whether the client has such an event already. */
  private boolean isRepeated(byte[] bytes) {
    return (blocks.startsMessage(bytes) && answer.hasRole())
        || (blocks.startsText(bytes) && blocks.block() == blocks.index());
  }

  /** The worker that got the request again must not answer otherwise than the one before it had begun. */
  private void checkBlock() throws DivergedStreamException {
    if (blocks.block() >= 0 && !answer.hasText() && answer.begins(Part.TOOL_CALL, Part.REASONING, Part.OTHER)) {
      throw new DivergedStreamException("another block than the one that had begun");
    }
  }

  /** The events for one of a chat that goes on from the text, of which {@code edited} is left. */
  private byte[] ofChat(byte[] data, byte @Nullable [] edited) throws IOException {
    byte[] chunk = edited == null ? data : edited;
    if (chunk.length == 0) {
      return chunk;
    }
    if (answer.begins(Part.REASONING)) {
      throw new DivergedStreamException("thoughts, which have no place behind a text");
    }
    translate(rest(), chunk);
    return taken();
  }

  /** The end of a chat's answer, with the usage of all, which its engine may have left out. */
  private byte[] endOfChat() throws IOException {
    Translation.Stream stream = rest();
    if (!answer.hasUsageEvent()) {
      String usage = answer.totalUsage(JsonNodeFactory.instance.objectNode()).toString();
      translate(stream, ascii("{\"choices\":[],\"usage\":" + usage + "}"));
    }
    translate(stream, EventData.done());
    return taken();
  }

  private Translation.Stream rest() {
    Translation.Stream begun = rest;
    Translation.Stream stream = begun == null ? MessagesTranslation.rest(this::take, blocks.block()) : begun;
    rest = stream;
    return stream;
  }

  private static void translate(Translation.Stream stream, byte[] data) throws IOException {
    byte[] event = SseEvents.event(data);
    stream.accept(event, 0, event.length);
  }

  private void take(byte[] bytes, int offset, int count) {
    translated.write(bytes, offset, count);
  }

  private byte[] taken() {
    byte[] bytes = translated.toByteArray();
    translated.reset();
    return bytes;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
