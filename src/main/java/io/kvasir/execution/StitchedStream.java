package io.kvasir.execution;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.dialect.EventData;
import io.kvasir.execution.dialect.JsonMembers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The streams of several workers, one after the other, as the one stream of events that a client sees. Only whole
 * events pass. Those of the first worker pass as they came, while their text is kept; those of the next have the first
 * one's id, do not repeat the role, and tell the usage of all.
 *
 * <p>Tokens are those the engine tells of; while it does not, an event with text counts as one. Where no usage had come
 * from the first worker, its prompt is the second's without what was added to it, and its cached tokens are not told.
 * One thread at a time.
 */
final class StitchedStream implements Result.Sink {
  /** Characters of an answer that are kept, and bytes of one event that are held back. */
  static final int MOST = 1 << 20;

  private static final byte[] NOTHING = {};
  private static final byte[] DATA = ascii("data: ");
  private static final byte[] BLANK_LINE = ascii("\n\n");
  private static final String DONE = "[DONE]";
  private static final List<String> SHARED = List.of("id", "created", "model");

  private final Result.Sink client;
  private final boolean chat;
  private final boolean withoutUsage;
  private final EventData lines = new EventData(read -> data = read);
  private final StringBuilder text = new StringBuilder();

  private AnswerTap tap = new AnswerTap(AnswerTap.Form.EVENTS);
  private byte[] pending = new byte[1 << 10];
  private int length;
  /** Whether a part of the event under way has gone to the client: it is too long to be held. */
  private boolean passing;
  private byte @Nullable [] data;

  private @Nullable JsonMembers first;
  private boolean later;
  private boolean roleTold;
  private boolean finished;
  private boolean usageTold;
  private boolean done;
  private @Nullable String unfit;
  /** Tokens of the answers of the workers before, and of the one that speaks. */
  private int before;
  private int generated;
  private int promptTokens = Outcome.UNKNOWN;
  private int cachedTokens = Outcome.UNKNOWN;

  /**
   * A stream about to begin.
   *
   * @param chat whether it is the chat API's, not the completions API's
   * @param withoutUsage whether the event that tells usage alone is kept from the client
   */
  StitchedStream(Result.Sink client, boolean chat, boolean withoutUsage) {
    this.client = client;
    this.chat = chat;
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
      if (passing) {
        client.write(bytes, from, end - from);
        passing = false;
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
  void complete() throws IOException {
    tap.end();
    if (length > 0) {
      event(pending, 0, length);
      length = 0;
    }
  }

  /** The worker's stream was cut: an event that is not whole is lost, and the next worker's are to come. */
  void cut() throws IOException {
    if (passing) {
      unfit = "too-long";
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
    later = true;
    before += generated;
    generated = 0;
  }

  /**
   * Ends the stream when nothing is left to be said.
   *
   * @param withUsage whether usage is to be told
   * @param prompt tokens of the prompt, should no engine have told of them
   */
  void finish(boolean withUsage, int prompt) throws IOException {
    JsonMembers head = first == null ? JsonMembers.empty() : first.without("usage");
    if (!finished) {
      String said = chat ? "\"delta\":{}" : "\"text\":\"\"";
      tell(head.with("choices", "[{\"index\":0," + said + ",\"logprobs\":null,\"finish_reason\":\"length\"}]").bytes());
    }
    if (promptTokens == Outcome.UNKNOWN) {
      promptTokens = prompt;
    }
    if (withUsage && !usageTold) {
      tell(head.with("choices", "[]").with("usage", total(JsonNodeFactory.instance.objectNode()).toString()).bytes());
    }
    if (!done) {
      tell(ascii(DONE));
    }
    done = true;
  }

  /** What the client has of the answer. */
  String text() {
    return text.toString();
  }

  /** Its tokens, as far as they are known. */
  int generated() {
    return before + generated;
  }

  /** Tokens of the client's prompt, {@link Outcome#UNKNOWN} while nobody has told. */
  int promptTokens() {
    return promptTokens;
  }

  /** Those the first worker found in its cache, {@link Outcome#UNKNOWN} when it did not tell. */
  int cachedTokens() {
    return cachedTokens;
  }

  /** Whether the answer has told why it ended: there is no more text. */
  boolean finished() {
    return finished;
  }

  /** Whether the terminator has come. */
  boolean done() {
    return done;
  }

  /** Whether the worker that speaks told of an error. */
  boolean failed() {
    return tap.failed();
  }

  /** What of the answer so far does not allow to continue it, for metrics; null when nothing does. */
  @Nullable String unfit() {
    return unfit;
  }

  private void hold(byte[] bytes, int from, int to) throws IOException {
    if (passing || length + to - from > MOST) {
      client.write(pending, 0, length);
      client.write(bytes, from, to - from);
      length = 0;
      passing = true;
      unfit = "too-long";
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
    byte[] told = dataOf(bytes, from, to);
    byte[] instead = told == null ? null : instead(told);
    if (instead == null) {
      client.write(bytes, from, to - from);
    } else if (instead.length > 0) {
      tell(instead);
    }
  }

  private byte @Nullable [] dataOf(byte[] bytes, int from, int to) throws IOException {
    data = null;
    lines.accept(bytes, from, to - from);
    lines.end();
    return data;
  }

  private void tell(byte[] message) throws IOException {
    byte[] event = Arrays.copyOf(DATA, DATA.length + message.length + BLANK_LINE.length);
    System.arraycopy(message, 0, event, DATA.length, message.length);
    System.arraycopy(BLANK_LINE, 0, event, DATA.length + message.length, BLANK_LINE.length);
    client.write(event, 0, event.length);
  }

  /** What the client is told instead: nothing at all when that is empty, the event as it is when that is null. */
  private byte @Nullable [] instead(byte[] told) {
    if (isDone(told)) {
      done = true;
      return null;
    }
    JsonMembers chunk = JsonMembers.tryOf(told);
    if (chunk == null || chunk.hasValue("error")) {
      return null;
    }
    JsonNode choices = chunk.value("choices");
    JsonNode usage = chunk.value("usage");
    boolean roleAgain = roleTold;
    choices.forEach(this::note);
    if (usage.isObject()) {
      note(usage, choices);
    }
    if (first == null) {
      first = chunk;
    }
    if (withoutUsage && usage.isObject() && choices.isEmpty()) {
      return NOTHING;
    }
    return later ? continued(chunk, choices, usage, roleAgain) : null;
  }

  private void note(JsonNode choice) {
    JsonNode said = chat ? choice.path("delta") : choice;
    roleTold |= said.has("role");
    finished |= choice.hasNonNull("finish_reason");
    if (choice.path("index").asInt(0) > 0) {
      unfit = "several-answers";
    }
    if (!said.path("tool_calls").isEmpty() || said.hasNonNull("function_call")) {
      unfit = "tools";
    }
    if (!said.path("reasoning_content").asText("").isEmpty() || !said.path("reasoning").asText("").isEmpty()) {
      // A message to be continued has no place for thoughts.
      unfit = "reasoning";
    }
    String more = said.path(chat ? "content" : "text").asText("");
    if (more.isEmpty()) {
      return;
    }
    generated++;
    if (text.length() + more.length() > MOST) {
      unfit = "too-long";
      text.setLength(0);
    }
    if (unfit == null) {
      text.append(more);
    }
  }

  private void note(JsonNode usage, JsonNode choices) {
    usageTold |= choices.isEmpty();
    generated = usage.path("completion_tokens").asInt(generated);
    JsonNode prompt = usage.path("prompt_tokens");
    if (promptTokens == Outcome.UNKNOWN && prompt.isNumber()) {
      promptTokens = Math.max(0, prompt.intValue() - before);
    }
    if (!later) {
      cachedTokens = usage.path("prompt_tokens_details").path("cached_tokens").asInt(cachedTokens);
    }
  }

  private byte[] continued(JsonMembers chunk, JsonNode choices, JsonNode usage, boolean roleAgain) {
    JsonMembers out = chunk;
    for (String name : SHARED) {
      out = chunk.has(name) && first != null ? out.withCopy(name, first, name) : out;
    }
    if (chat && roleAgain && choices instanceof ArrayNode array && withoutRole(array)) {
      if (choices.valueStream().noneMatch(StitchedStream::says)) {
        return NOTHING;
      }
      out = out.with("choices", choices.toString());
    }
    if (usage instanceof ObjectNode counts) {
      out = out.with("usage", total(counts).toString());
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

  private static boolean says(JsonNode choice) {
    return choice.hasNonNull("finish_reason")
        || choice.path("delta").valueStream().anyMatch(value -> !value.asText("").isEmpty() || !value.isEmpty());
  }

  private ObjectNode total(ObjectNode usage) {
    int prompt = Math.max(0, promptTokens);
    usage.put("prompt_tokens", prompt);
    usage.put("total_tokens", prompt + generated());
    usage.put("completion_tokens", generated());
    if (usage.path("prompt_tokens_details") instanceof ObjectNode details) {
      if (cachedTokens == Outcome.UNKNOWN) {
        details.remove("cached_tokens");
        if (details.isEmpty()) {
          usage.remove("prompt_tokens_details");
        }
      } else {
        details.put("cached_tokens", cachedTokens);
      }
    }
    return usage;
  }

  private static boolean isDone(byte[] told) {
    return told.length <= DONE.length() + 1 && new String(told, StandardCharsets.US_ASCII).strip().equals(DONE);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
