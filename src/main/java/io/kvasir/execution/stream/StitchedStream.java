package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.ApiPath;
import io.kvasir.http.ByteSink;
import io.kvasir.http.DeferringSink;
import io.kvasir.http.SseEvents;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The streams of several workers, one after the other, as the one stream of events that a client sees. Only whole
 * events pass. Those of the first worker pass as they came, without waiting where the client's sink allows it, while
 * their text is noted; those of the next are {@link ContinuedEvents}, which {@link MessageEvents} translates where the
 * client has a message of Anthropic's API. Of {@link ResponseEvents} there are no next ones once the answer has begun.
 * One thread at a time.
 */
public final class StitchedStream implements TappedSink, AutoCloseable {
  /** Bytes of one event that are held back. */
  static final int MAX_HELD = 1 << 20;

  /** Bytes of the first event that are kept as they are, and the members that are kept of a longer one. */
  private static final int MAX_HEAD = 4 << 10;

  /** Bytes of an engine's failure, and of what follows it, that are kept from the client; a longer one passes. */
  static final int MAX_FAILURE = 8 << 10;

  private static final Set<String> HEAD = Set.of("id", "object", "created", "model", "system_fingerprint");
  private static final byte[] NONE = {};
  private static final byte[] BLANK_LINE = ascii("\n\n");
  private static final String DONE = "[DONE]";

  /** An engine's error with this code or a higher one is its own failure, not the request's. */
  private static final int SERVER_ERROR = 500;

  private final ByteSink client;
  private final boolean chat;
  /** What there is to events of messages, null for other APIs. */
  private final @Nullable MessageEvents messages;
  /** What there is to events of responses, null for other APIs. */
  private final @Nullable ResponseEvents responses;
  private final boolean withoutUsage;
  private final TextBudget budget;
  private final SseEvents reader = new SseEvents((_, read) -> data = read);
  private final PartialAnswer answer;

  private AnswerTap tap;
  private WholeEvents events;
  /** Makes the next worker's events those of the first; null while there is only one. */
  private @Nullable ContinuedEvents continued;
  /** Whether the current worker got the request again, for an answer that has begun without a text. */
  private boolean requestedAgain;
  /** Whether what passes is offered to the client, not written. */
  private boolean offering;
  private byte @Nullable [] data;

  /** The data of the first event. */
  private byte @Nullable [] first;
  private boolean tooLong;
  private boolean done;

  /** What the current worker, and the one before it, told of a failure of its own, and what followed. */
  private byte[] failure = NONE;

  private byte[] lastFailure = NONE;
  /** Whether an error of the current worker has passed to the client: nobody can make that good. */
  private boolean errorPassed;

  /**
   * A stream about to begin.
   *
   * @param api of chats, completions, messages or responses
   * @param withoutUsage whether the event that has usage alone is kept from the client
   * @param budget for what is noted of the text, and for long events while they are held
   */
  public StitchedStream(ByteSink client, ApiPath api, boolean withoutUsage, TextBudget budget) {
    this.client = client;
    this.chat = api != ApiPath.COMPLETIONS;
    this.budget = budget;
    this.answer = new PartialAnswer(budget);
    this.messages = api == ApiPath.MESSAGES ? new MessageEvents(answer) : null;
    this.responses = api == ApiPath.RESPONSES ? new ResponseEvents(answer) : null;
    this.withoutUsage = withoutUsage;
    this.tap = new AnswerTap(AnswerTap.Form.EVENTS);
    this.events = events(tap);
  }

  @Override
  public void beginStream(AnswerTap another) {
    tap = another;
    events.close();
    events = events(another);
  }

  @Override
  public void endStream() {
    events.endTap();
  }

  private WholeEvents events(AnswerTap read) {
    ContinuedEvents next = continued;
    if (next == null) {
      if (messages == null && responses == null) {
        read.listen(answer);
      }
      return new WholeEvents(
          this::pass, read, MAX_HELD, budget, unlessFailed(requestedAgain ? this::noteAgain : this::note));
    }
    return new WholeEvents(this::pass, read, MAX_HELD, budget, unlessFailed((bytes, from, to) -> {
      byte[] eventData = dataOf(bytes, from, to);
      done |= tap.ended();
      byte[] instead = eventData == null || isDone(eventData) ? null : next.edit(eventData, tap);
      if (messages != null && eventData != null) {
        byte[] chunk = instead == null ? eventData : instead;
        return isDone(eventData) ? messages.end() : chunk.length == 0 ? chunk : messages.translate(chunk);
      }
      return instead == null || instead.length == 0 ? instead : SseEvents.event(instead);
    }));
  }

  @Override
  public boolean canOffer() {
    return client instanceof DeferringSink deferring && deferring.canOffer();
  }

  @Override
  public void offer(byte[] bytes, int offset, int count) throws IOException {
    offering = true;
    try {
      events.write(bytes, offset, count);
    } finally {
      offering = false;
    }
  }

  @Override
  public boolean isBehind() {
    return client instanceof DeferringSink deferring && deferring.isBehind();
  }

  @Override
  public void flush() throws IOException {
    if (client instanceof DeferringSink deferring) {
      deferring.flush();
    }
  }

  @Override
  public void write(byte[] bytes, int offset, int count) throws IOException {
    events.write(bytes, offset, count);
  }

  private void pass(byte[] bytes, int offset, int count) throws IOException {
    if (offering && client instanceof DeferringSink deferring) {
      deferring.offer(bytes, offset, count);
    } else {
      client.write(bytes, offset, count);
    }
  }

  /** The worker's stream came to its end: what is held back goes, whole or not. */
  public void complete() throws IOException {
    events.end();
    pass(failure, 0, failure.length);
  }

  /** The worker's stream was cut: an event that is not whole is lost, and the next worker's are to come. */
  public void truncated() throws IOException {
    flush();
    tooLong |= events.hadLong();
    if (tooLong) {
      answer.markTooLong();
    }
    byte[] held = events.held();
    byte[] last = dataOf(held, 0, held.length);
    if (last != null && (isDone(last) || JsonMembers.tryOf(last) != null)) {
      // Nothing but the line's end, or not even that, and the blank line behind it are missing.
      int from = held[held.length - 1] == '\n' ? 1 : 0;
      events.endWith(BLANK_LINE, from, BLANK_LINE.length);
    }
    answer.nextWorker();
    lastFailure = failure;
    failure = NONE;
    errorPassed = false;
    continued = null;
  }

  /**
   * Another worker is to go on.
   *
   * @param rest what is known of the request that it gets
   */
  public void resume(RestOfStream rest) {
    requestedAgain = responses != null || (messages != null && !answer.hasText());
    if (responses != null) {
      responses.nextWorker();
    }
    continued = requestedAgain ? null : new ContinuedEvents(answer, rest, chat, withoutUsage, first);
    beginStream(new AnswerTap(AnswerTap.Form.EVENTS));
  }

  /** No worker goes on from the text so far: the client gets what the one that was cut told of its failure, if any. */
  public void abandoned() throws IOException {
    pass(lastFailure, 0, lastFailure.length);
  }

  /**
   * Ends the stream when nothing is left to be generated.
   *
   * @param withUsage whether to write an event of usage
   * @param prompt tokens of the prompt, should no engine have reported them
   */
  public void finish(boolean withUsage, int prompt) throws IOException {
    if (messages != null) {
      if (!done) {
        answer.estimatePrompt(prompt);
        byte[] end = messages.finish();
        client.write(end, 0, end.length);
      }
      done = true;
      return;
    }
    JsonMembers read = first == null ? null : JsonMembers.tryOf(first);
    JsonMembers head = read == null ? JsonMembers.empty() : read.without("usage");
    if (!answer.finished() && !done) {
      String empty = chat ? "\"delta\":{}" : "\"text\":\"\"";
      writeData(head.with("choices", "[{\"index\":0," + empty + ",\"logprobs\":null,\"finish_reason\":\"length\"}]")
          .bytes());
    }
    answer.estimatePrompt(prompt);
    if (withUsage && !answer.hasUsageEvent() && !done) {
      ObjectNode usage = answer.totalUsage(JsonNodeFactory.instance.objectNode());
      writeData(head.with("choices", "[]").with("usage", usage.toString()).bytes());
    }
    if (!done) {
      writeData(ascii(DONE));
    }
    done = true;
  }

  /** Gives back what is noted of the text and what is held, which are known no more then. Idempotent. */
  @Override
  public void close() {
    events.close();
    answer.close();
  }

  /** What is known of the answer so far. */
  public PartialAnswer answer() {
    return answer;
  }

  /** Whether the terminator has come. */
  public boolean done() {
    return done;
  }

  /** Whether the current worker's stream had an error that the client has seen. */
  public boolean failed() {
    return tap.failed() && failure.length == 0;
  }

  /** Keeps an engine's own failure from the client, for another worker may continue, and what follows it. */
  private WholeEvents.Editor unlessFailed(WholeEvents.Editor editor) {
    return (bytes, from, to) -> {
      int length = failure.length;
      boolean room = length + to - from <= MAX_FAILURE;
      if (length == 0 && !(tap.failed() && room && !errorPassed && isFailureOfEngine(dataOf(bytes, from, to)))) {
        errorPassed |= tap.failed();
        return editor.edit(bytes, from, to);
      }
      if (!room) {
        return WholeEvents.Editor.NOTHING;
      }
      if (messages != null && continued != null) {
        byte[] chat = length == 0 ? dataOf(bytes, from, to) : null;
        failure = chat == null ? failure : messages.failure(chat);
        return WholeEvents.Editor.NOTHING;
      }
      failure = Arrays.copyOf(failure, length + to - from);
      System.arraycopy(bytes, from, failure, length, to - from);
      return WholeEvents.Editor.NOTHING;
    };
  }

  private static boolean isFailureOfEngine(byte @Nullable [] eventData) {
    JsonMembers members = eventData == null ? null : JsonMembers.tryOf(eventData);
    return members != null && members.value("error").path("code").asInt() >= SERVER_ERROR;
  }

  /** Notes an event of the first worker, which passes as it is. */
  private byte @Nullable [] note(byte[] bytes, int from, int to) throws IOException {
    done |= tap.ended();
    if (messages != null) {
      messages.note(bytes, from, to);
    } else if (responses != null) {
      responses.note(tap, !tap.firstToken() && dataOf(bytes, from, to) != null);
    } else if (first == null && !tap.failed() && !done) {
      first = headOf(dataOf(bytes, from, to));
    }
    answer.eventPassed(tap);
    return withoutUsage && tap.usageOnly() ? WholeEvents.Editor.NOTHING : null;
  }

  /** Notes an event of a worker that got the request again, of which the client does not get what it has. */
  private byte @Nullable [] noteAgain(byte[] bytes, int from, int to) throws IOException {
    done |= tap.ended();
    byte[] instead = null;
    if (responses != null) {
      boolean inAnswer = tap.firstToken() && !tap.ended() && !tap.failed();
      instead = responses.noteAgain(tap, inAnswer ? bytes : dataOf(bytes, from, to));
    } else if (!Objects.requireNonNull(messages).noteAgain(bytes, from, to)) {
      instead = WholeEvents.Editor.NOTHING;
    }
    answer.eventPassed(tap);
    return instead;
  }

  private byte @Nullable [] dataOf(byte[] bytes, int from, int to) throws IOException {
    data = null;
    reader.accept(bytes, from, to - from);
    reader.end();
    return data;
  }

  /** The data of an event, without what there is much of, like the tokens of a long prompt. */
  private static byte @Nullable [] headOf(byte @Nullable [] eventData) {
    JsonMembers members =
        eventData == null || eventData.length <= MAX_HEAD ? null : JsonMembers.tryOf(eventData);
    return members == null ? eventData : members.without(name -> !HEAD.contains(name)).bytes();
  }

  private void writeData(byte[] message) throws IOException {
    byte[] event = SseEvents.event(message);
    client.write(event, 0, event.length);
  }

  private static boolean isDone(byte[] eventData) {
    return eventData.length <= DONE.length() + 1
        && new String(eventData, StandardCharsets.US_ASCII).strip().equals(DONE);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
