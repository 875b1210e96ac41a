package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.ByteSink;
import io.kvasir.http.SseEvents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The streams of several workers, one after the other, as the one stream of events that a client sees. Only whole
 * events pass. Those of the first worker pass as they came, while their text is kept; those of the next have the first
 * one's id, do not repeat the role, and have the usage of all.
 * One thread at a time.
 */
public final class StitchedStream implements ByteSink {
  /** Bytes of one event that are held back. */
  static final int MAX_HELD = 1 << 20;

  private static final byte[] NOTHING = {};
  private static final byte[] DATA = ascii("data: ");
  private static final byte[] BLANK_LINE = ascii("\n\n");
  private static final String DONE = "[DONE]";
  private static final List<String> SHARED = List.of("id", "created", "model");

  private final ByteSink client;
  private final boolean chat;
  private final boolean withoutUsage;
  private final SseEvents events = new SseEvents((_, read) -> data = read);
  private final PartialAnswer answer;

  private AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);
  private byte[] pending = new byte[1 << 10];
  private int length;
  /** Whether a part of the current event has been written to the client: it is too long to be held. */
  private boolean passThrough;
  private byte @Nullable [] data;

  private @Nullable JsonMembers first;
  private boolean resumed;
  private boolean done;

  /**
   * A stream about to begin.
   *
   * @param chat whether it is the chat API's, not the completions API's
   * @param withoutUsage whether the event that has usage alone is kept from the client
   */
  public StitchedStream(ByteSink client, boolean chat, boolean withoutUsage) {
    this.client = client;
    this.chat = chat;
    this.answer = new PartialAnswer(chat);
    this.withoutUsage = withoutUsage;
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    int to = offset + count;
    int from = offset;
    while (from < to) {
      int end = tap.acceptEvent(bytes, from, to);
      if (end < 0) {
        hold(bytes, from, to);
        return;
      }
      if (passThrough) {
        client.write(bytes, from, end - from);
        passThrough = false;
      } else if (length == 0) {
        event(bytes, from, end);
      } else {
        append(bytes, from, end);
        event(pending, 0, length);
      }
      length = 0;
      from = end;
    }
  }

  /** The worker's stream came to its end: what is held back goes, whole or not. */
  public void complete() throws IOException {
    tap.end();
    if (length > 0) {
      event(pending, 0, length);
      length = 0;
    }
  }

  /** The worker's stream was cut: an event that is not whole is lost, and the next worker's are to come. */
  public void truncated() throws IOException {
    if (passThrough) {
      answer.markTooLong();
    }
    if (length > 0) {
      byte[] last = dataOf(pending, 0, length);
      if (last != null && (isDone(last) || JsonMembers.tryOf(last) != null)) {
        append(BLANK_LINE, 0, BLANK_LINE.length);
        event(pending, 0, length);
      }
      length = 0;
    }
    tap = new AnswerTap(AnswerTap.Form.EVENTS);
    resumed = true;
    answer.nextWorker();
  }

  /**
   * Ends the stream when nothing is left to be generated.
   *
   * @param withUsage whether to write an event of usage
   * @param prompt tokens of the prompt, should no engine have reported them
   */
  public void finish(boolean withUsage, int prompt) throws IOException {
    JsonMembers head = first == null ? JsonMembers.empty() : first.without("usage");
    if (!answer.finished()) {
      String empty = chat ? "\"delta\":{}" : "\"text\":\"\"";
      writeData(head.with("choices", "[{\"index\":0," + empty + ",\"logprobs\":null,\"finish_reason\":\"length\"}]")
          .bytes());
    }
    answer.estimatePrompt(prompt);
    if (withUsage && !answer.hasUsageEvent()) {
      ObjectNode usage = answer.totalUsage(JsonNodeFactory.instance.objectNode());
      writeData(head.with("choices", "[]").with("usage", usage.toString()).bytes());
    }
    if (!done) {
      writeData(ascii(DONE));
    }
    done = true;
  }

  /** What is known of the answer so far. */
  public PartialAnswer answer() {
    return answer;
  }

  /** Whether the terminator has come. */
  public boolean done() {
    return done;
  }

  /** Whether the current worker's stream had an error. */
  public boolean failed() {
    return tap.failed();
  }

  private void hold(byte[] bytes, int from, int to) throws IOException {
    if (passThrough || length + to - from > MAX_HELD) {
      client.write(pending, 0, length);
      client.write(bytes, from, to - from);
      length = 0;
      passThrough = true;
      answer.markTooLong();
      return;
    }
    append(bytes, from, to);
  }

  private void append(byte[] bytes, int from, int to) {
    int added = to - from;
    if (length + added > pending.length) {
      pending = Arrays.copyOf(pending, Math.max(2 * pending.length, length + added));
    }
    System.arraycopy(bytes, from, pending, length, added);
    length += added;
  }

  private void event(byte[] bytes, int from, int to) throws IOException {
    byte[] eventData = dataOf(bytes, from, to);
    byte[] instead = eventData == null ? null : instead(eventData);
    if (instead == null) {
      client.write(bytes, from, to - from);
    } else if (instead.length > 0) {
      writeData(instead);
    }
  }

  private byte @Nullable [] dataOf(byte[] bytes, int from, int to) throws IOException {
    data = null;
    events.accept(bytes, from, to - from);
    events.end();
    return data;
  }

  private void writeData(byte[] message) throws IOException {
    byte[] event = Arrays.copyOf(DATA, DATA.length + message.length + BLANK_LINE.length);
    System.arraycopy(message, 0, event, DATA.length, message.length);
    System.arraycopy(BLANK_LINE, 0, event, DATA.length + message.length, BLANK_LINE.length);
    client.write(event, 0, event.length);
  }

  /** The data that replaces an event's: none at all when empty, the event as it is when null. */
  private byte @Nullable [] instead(byte[] eventData) {
    if (isDone(eventData)) {
      done = true;
      return null;
    }
    JsonMembers chunk = JsonMembers.tryOf(eventData);
    if (chunk == null || chunk.hasValue("error")) {
      return null;
    }
    JsonNode choices = chunk.value("choices");
    JsonNode usage = chunk.value("usage");
    boolean roleAgain = answer.hasRole();
    choices.forEach(answer::addChoice);
    if (usage.isObject()) {
      answer.addUsage(usage, choices.isEmpty());
    }
    if (first == null) {
      first = chunk;
    }
    if (withoutUsage && usage.isObject() && choices.isEmpty()) {
      return NOTHING;
    }
    return resumed ? continued(chunk, choices, usage, roleAgain) : null;
  }

  private byte[] continued(JsonMembers chunk, JsonNode choices, JsonNode usage, boolean roleAgain) {
    JsonMembers out = chunk;
    for (String name : SHARED) {
      out = chunk.has(name) && first != null ? out.withCopy(name, first, name) : out;
    }
    if (chat && roleAgain && choices instanceof ArrayNode array && withoutRole(array)) {
      if (choices.valueStream().noneMatch(StitchedStream::hasContent)) {
        return NOTHING;
      }
      out = out.with("choices", choices.toString());
    }
    if (usage instanceof ObjectNode counts) {
      out = out.with("usage", answer.totalUsage(counts).toString());
    }
    return out.bytes();
  }

  private static boolean withoutRole(ArrayNode choices) {
    boolean had = false;
    for (JsonNode choice : choices) {
      had |= choice.path("delta") instanceof ObjectNode delta && delta.remove("role") != null;
    }
    return had;
  }

  private static boolean hasContent(JsonNode choice) {
    return choice.hasNonNull("finish_reason")
        || choice.path("delta").valueStream().anyMatch(value -> !value.asText("").isEmpty() || !value.isEmpty());
  }

  private static boolean isDone(byte[] eventData) {
    return eventData.length <= DONE.length() + 1
        && new String(eventData, StandardCharsets.US_ASCII).strip().equals(DONE);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
