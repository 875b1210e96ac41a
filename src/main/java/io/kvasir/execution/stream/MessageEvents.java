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
final class MessageEvents {
  private static final String LENGTH = "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}";
  private static final byte[] STOP = ascii("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");

  private static final String DONE = "[DONE]";

  private final PartialAnswer answer;
  private final BlockScan blocks;
  private final ByteArrayOutputStream translated = new ByteArrayOutputStream();
  /** Translates the rest of a text; null while all events are the engine's own. */
  private Translation.@Nullable Stream rest;

  /** A stream about to begin, of which {@code answer} notes what passes. */
  MessageEvents(PartialAnswer answer) {
    this.answer = answer;
    this.blocks = new BlockScan(answer);
  }

  /** Notes an event of the first worker. */
  void note(byte[] bytes, int from, int to) {
    blocks.read(bytes, from, to);
    blocks.note(bytes);
  }

  /**
   * Notes an event of a worker that got the request again; whether the client is to get it.
   *
   * @throws DivergedStreamException when it answers otherwise than the worker before it had begun
   */
  boolean noteAgain(byte[] bytes, int from, int to) throws DivergedStreamException {
    blocks.read(bytes, from, to);
    if (blocks.startsMessage(bytes) && answer.hasRole()) {
      return false;
    }
    if (blocks.startsText(bytes) && blocks.block() == blocks.index()) {
      return false;
    }
    blocks.note(bytes);
    if (blocks.block() >= 0 && !answer.hasText() && answer.begins(Part.TOOL_CALL, Part.REASONING, Part.OTHER)) {
      throw new DivergedStreamException("another block than the one that had begun");
    }
    return true;
  }

  /**
   * The events for one of a chat that goes on from the text; empty for none.
   *
   * @throws DivergedStreamException when it has thoughts, which have no place behind a text
   */
  byte[] translate(byte[] chat) throws IOException {
    if (answer.begins(Part.REASONING)) {
      throw new DivergedStreamException("thoughts behind the text");
    }
    translate(rest(), chat);
    return taken();
  }

  /** The end of a chat's answer, with the usage of all, which its engine may have left out. */
  byte[] end() throws IOException {
    Translation.Stream stream = rest();
    if (!answer.hasUsageEvent()) {
      String usage = answer.totalUsage(JsonNodeFactory.instance.objectNode()).toString();
      translate(stream, ascii("{\"choices\":[],\"usage\":" + usage + "}"));
    }
    translate(stream, ascii(DONE));
    return taken();
  }

  /** The event for the error of a chat. */
  byte[] failure(byte[] error) throws IOException {
    translate(MessagesTranslation.rest(this::take, blocks.block()), error);
    return taken();
  }

  /** The end of the message, of which nothing is left to be generated. */
  byte[] finish() throws IOException {
    if (rest == null && answer.finished()) {
      return STOP;
    }
    if (!answer.finished()) {
      translate(rest(), ascii(LENGTH));
    }
    return end();
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
