package io.kvasir.execution.stream;

import io.kvasir.execution.dialect.ErrorEvent;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.ApiPath;
import io.kvasir.http.ByteSink;
import io.kvasir.http.DeferringSink;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The streams of several workers, one after the other, as the one stream of events that a client sees. Only whole
 * events pass, without waiting where the client's sink allows it, each as its API's {@link StitchedEvents} have it. An
 * engine's own failure is kept back, as another worker may make it good. One thread at a time.
 */
public final class StitchedStream implements TappedSink, AutoCloseable {
  /** Bytes of one event that are held back. */
  static final int MAX_HELD = 1 << 20;

  /** Bytes of an engine's failure, and of what follows it, that are kept from the client; a longer one passes. */
  static final int MAX_FAILURE = 8 << 10;

  /** What a client is told whose stream was cut. */
  private static final String CUT =
      "the engine has cut its stream, and no other one continues it: the answer is not whole";

  private static final byte[] NONE = {};
  private static final byte[] BLANK_LINE = "\n\n".getBytes(StandardCharsets.US_ASCII);

  /** An engine's error with this code or a higher one is its own failure, not the request's. */
  private static final int SERVER_ERROR = 500;

  private final ByteSink client;
  private final Permission permission;
  private final ApiPath api;
  private final TextBudget budget;
  private final EventData reader = new EventData();
  private final PartialAnswer answer;
  private final StitchedEvents events;

  /** What of the answer has passed, for other threads. */
  private volatile Progress progress = Progress.SILENT;

  private AnswerTap tap;
  private WholeEvents whole;
  /** Whether what passes is offered to the client, not written. */
  private boolean offering;
  private boolean tooLong;
  private boolean done;

  /** What the current worker, and the one before it, told of a failure of its own, and what followed. */
  private byte[] failure = NONE;

  private byte[] lastFailure = NONE;
  /** Whether an error of the current worker has passed to the client: nobody can make that good. */
  private boolean errorPassed;

  /** Whether a client's request allows its stream to be continued. Thread-safe. */
  @FunctionalInterface
  public interface Permission {
    /** Whether it does, once the stream has some text or before. */
    boolean permits(boolean hasText);
  }

  private enum Progress {
    /** Without a text. */
    SILENT,
    /** With a text that another worker may go on from. */
    TEXT,
    /** With what nobody goes on from. */
    OTHER
  }

  /**
   * A stream about to begin.
   *
   * @param permission of the request
   * @param api of chats, completions, messages or responses
   * @param withoutUsage whether the event that has usage alone is kept from the client
   * @param budget for what is noted of the text, and for long events while they are held
   */
  public StitchedStream(
      ByteSink client, Permission permission, ApiPath api, boolean withoutUsage, TextBudget budget) {
    this.client = client;
    this.permission = permission;
    this.api = api;
    this.budget = budget;
    this.answer = new PartialAnswer(budget);
    this.events =
        switch (api) {
          case MESSAGES -> new MessageEvents(answer);
          case RESPONSES -> new ResponseEvents(answer);
          default -> new ChatEvents(answer, api != ApiPath.COMPLETIONS, withoutUsage);
        };
    this.tap = new AnswerTap(AnswerTap.Form.EVENTS);
    this.whole = read(tap);
  }

  @Override
  public void beginStream(AnswerTap another) {
    tap = another;
    whole.close();
    whole = read(another);
  }

  @Override
  public void endStream() {
    whole.endTap();
  }

  @Override
  public boolean mayBeContinued() {
    return switch (progress) {
      case SILENT -> permission.permits(false);
      case TEXT -> permission.permits(true);
      case OTHER -> false;
    };
  }

  private void noteProgress() {
    Progress now =
        answer.unsupportedReason() != null ? Progress.OTHER : answer.hasText() ? Progress.TEXT : Progress.SILENT;
    if (progress != now) {
      progress = now;
    }
  }

  private WholeEvents read(AnswerTap next) {
    events.begin(next);
    return new WholeEvents(this::pass, next, MAX_HELD, budget, this::edit);
  }

  @Override
  public boolean canOffer() {
    return client instanceof DeferringSink deferring && deferring.canOffer();
  }

  @Override
  public void offer(byte[] bytes, int offset, int count) throws IOException {
    offering = true;
    try {
      whole.write(bytes, offset, count);
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
    whole.write(bytes, offset, count);
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
    whole.end();
    pass(failure, 0, failure.length);
  }

  /** The worker's stream was cut: an event that is not whole is lost, and the next worker's are to come. */
  public void truncated() throws IOException {
    flush();
    tooLong |= whole.hadLong();
    if (tooLong) {
      answer.markTooLong();
    }
    byte[] held = whole.held();
    byte[] last = reader.of(held, 0, held.length);
    if (last != null && (EventData.isDone(last) || JsonMembers.tryOf(last) != null)) {
      // Nothing but the line's end, or not even that, and the blank line behind it are missing.
      int from = held[held.length - 1] == '\n' ? 1 : 0;
      whole.endWith(BLANK_LINE, from, BLANK_LINE.length);
    }
    answer.nextWorker();
    lastFailure = failure;
    failure = NONE;
    errorPassed = false;
  }

  /**
   * Another worker is to go on.
   *
   * @param rest what is known of the request that it gets
   */
  public void resume(RestOfStream rest) {
    events.nextWorker(rest);
    beginStream(new AnswerTap(AnswerTap.Form.EVENTS));
  }

  /**
   * No worker goes on from the text so far: the client gets what the one that was cut told of its failure, or else an
   * error that says so. None where it has an event that was too long to be held: perhaps not all of it.
   */
  public void abandoned() throws IOException {
    byte[] error = lastFailure.length > 0 || tooLong
        ? lastFailure
        : ErrorEvent.of(api, 502, CUT, events.numbered());
    pass(error, 0, error.length);
  }

  /**
   * Ends the stream when nothing is left to be generated.
   *
   * @param withUsage whether to write an event of usage
   * @param prompt tokens of the prompt, should no engine have reported them
   */
  public void finish(boolean withUsage, int prompt) throws IOException {
    answer.estimatePrompt(prompt);
    if (!done) {
      byte[] end = events.end(withUsage);
      client.write(end, 0, end.length);
    }
    done = true;
  }

  /** Gives back what is noted of the text and what is held, which are known no more then. Idempotent. */
  @Override
  public void close() {
    whole.close();
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
  private byte @Nullable [] edit(byte[] bytes, int from, int to) throws IOException {
    int length = failure.length;
    boolean room = length + to - from <= MAX_FAILURE;
    if (length == 0 && !(tap.failed() && room && !errorPassed && isFailureOfEngine(reader.of(bytes, from, to)))) {
      errorPassed |= tap.failed();
      done |= tap.ended();
      byte[] edited = events.edit(bytes, from, to, tap);
      noteProgress();
      return edited;
    }
    if (room) {
      failure = events.failure(failure, bytes, from, to);
    }
    return WholeEvents.Editor.NOTHING;
  }

  private static boolean isFailureOfEngine(byte @Nullable [] data) {
    JsonMembers members = data == null ? null : JsonMembers.tryOf(data);
    return members != null && members.value("error").path("code").asInt() >= SERVER_ERROR;
  }
}
