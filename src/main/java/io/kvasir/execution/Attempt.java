package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One request at one worker, from dispatch to outcome. Owns the booked load, the connection and the
 * deadlines, and lets go of all three exactly once, in {@link #settle}, on whichever path it ends.
 *
 * <p>Nothing goes to the client before the first byte of the answer's body is here: until then the
 * request can still be tried elsewhere, and that includes engines that send the head of a stream
 * before they have begun to work.
 *
 * <p>One thread runs it; {@link #clientLeft} and the deadlines come from others and only abort the call,
 * so that the running thread's read fails and finds the reason in {@link #stop}.
 */
final class Attempt {
  /** Why somebody else ended the call. */
  private enum Stop {
    CLIENT_LEFT("the client left"),
    FIRST_BYTE("no first byte in time"),
    IDLE("the answer stood still for too long"),
    TOTAL("the request took too long");

    private final String text;

    Stop(String text) {
      this.text = text;
    }
  }

  /** What came of a try. */
  sealed interface Try {
    /** There is an answer for the client. */
    record Answered(Result result) implements Try {}

    /**
     * The worker failed, and nothing has reached the client.
     *
     * @param why the kind of failure, for metrics
     * @param detail for the log, and for the client when nobody answers
     * @param transport whether the connection failed, and so the whole pod
     * @param late whether it was only too slow
     * @param repeatable whether another worker may be asked
     * @param answer its error answer, null when there was none
     */
    record Failed(
        String why,
        String detail,
        boolean transport,
        boolean late,
        boolean repeatable,
        Result.@Nullable Whole answer)
        implements Try {}

    /** The client left. */
    record Left() implements Try {}
  }

  private static final int READ_BYTES = 8 << 10;
  /** {@link #waitingSince} while this side is not waiting for the pod. */
  private static final long NOT_WAITING = 0;

  private final Call call;
  private final Decision.Chosen chosen;
  private final String reason;
  private final PodCall podCall;
  private final ExecutionSettings settings;
  private final ExecutionMetrics metrics;
  private final CallListener listener;
  private final ScheduledExecutorService timer;
  private final long deadline;
  private final int tries;
  private final long decideNanos;
  private final long started = System.nanoTime();
  private final AtomicBoolean settled = new AtomicBoolean();

  private volatile @Nullable Stop stop;
  private volatile boolean begun;
  private volatile long waitingSince = started;
  private volatile @Nullable Future<?> watch;

  private @Nullable PodResponse response;
  private AnswerTap tap = new AnswerTap(AnswerTap.Form.OPAQUE);
  private byte[] buffer = new byte[0];
  private int held;
  private boolean identified;
  private boolean firstToken;
  private long headNanos;
  private long firstByteNanos;

  /**
   * An attempt about to begin.
   *
   * @param reason why this worker, for the client
   * @param deadline when the whole request must be over, in {@link System#nanoTime}
   * @param tries how many workers have been tried, this one included
   * @param decideNanos spent in deciding so far
   */
  Attempt(
      Call call,
      Decision.Chosen chosen,
      String reason,
      PodCall podCall,
      ExecutionSettings settings,
      ExecutionMetrics metrics,
      CallListener listener,
      ScheduledExecutorService timer,
      long deadline,
      int tries,
      long decideNanos) {
    this.call = call;
    this.chosen = chosen;
    this.reason = reason;
    this.podCall = podCall;
    this.settings = settings;
    this.metrics = metrics;
    this.listener = listener;
    this.timer = timer;
    this.deadline = deadline;
    this.tries = tries;
    this.decideNanos = decideNanos;
    metrics.begun();
  }

  /** Sends the request and waits until there is something for the client. */
  Try begin() {
    boolean keep = false;
    try {
      watch();
      PodResponse answer = podCall.send();
      response = answer;
      headNanos = System.nanoTime() - started;
      Try result = switch (answer.status()) {
        case 408, 429, 500, 502, 503, 504 -> refused(answer);
        default -> answer.status() > 504 ? refused(answer) : answered(answer);
      };
      keep = result instanceof Try.Answered(Result.Streaming _);
      return result;
    } catch (PodException e) {
      return failed(e);
    } finally {
      if (!keep) {
        settle(new Outcome.Failed(false, "given up"));
      }
    }
  }

  /** The client left: the engine is to stop at once. Any thread; does not block. */
  void clientLeft() {
    stop(Stop.CLIENT_LEFT);
  }

  private Try refused(PodResponse answer) throws PodException {
    int status = answer.status();
    byte[] body = answer.readAll(settings.wholeBytes());
    boolean busy = status == 429 || status == 503;
    Outcome outcome = busy ? new Outcome.Refused(status) : new Outcome.Failed(false, "status " + status);
    settle(outcome);
    Result.Whole whole = new Result.Whole(
        chosen.worker(), reason, status, answer.headers(), body, report(outcome));
    return new Try.Failed(
        busy ? "busy" : "error", "status " + status, false, false, busy || call.repeatable(), whole);
  }

  private Try answered(PodResponse answer) throws PodException {
    AnswerTap.Form form = AnswerTap.formOf(answer.headers());
    tap = new AnswerTap(form);
    boolean streams = form == AnswerTap.Form.EVENTS || (form == AnswerTap.Form.OPAQUE && answer.contentLength() < 0);
    boolean ended = streams ? !readFirst(answer) : gather(answer);
    firstByteNanos = System.nanoTime() - started;
    if (!ended) {
      return new Try.Answered(
          new Result.Streaming(
              chosen.worker(), reason, answer.status(), answer.headers(), this::relay));
    }
    if (streams && call.terminated() && answer.status() < 300) {
      settle(new Outcome.Failed(false, "an empty stream"));
      return new Try.Failed("truncated", "an empty stream", false, false, call.repeatable(), null);
    }
    tap.accept(buffer, 0, held);
    tap.end();
    identify();
    Outcome outcome = answer.status() < 400 && tap.failed()
        ? new Outcome.Failed(false, "an error in the answer")
        : completed();
    settle(outcome);
    return new Try.Answered(
        new Result.Whole(
            chosen.worker(),
            reason,
            answer.status(),
            answer.headers(),
            held == buffer.length ? buffer : Arrays.copyOf(buffer, held),
            report(outcome)));
  }

  /** Waits for the first piece of a stream; false when it ended before. */
  private boolean readFirst(PodResponse answer) throws PodException {
    buffer = new byte[READ_BYTES];
    held = Math.max(0, answer.read(buffer, 0, buffer.length));
    begun = true;
    return held > 0;
  }

  /** Reads on until the body is over (true) or too long to be kept (false). */
  private boolean gather(PodResponse answer) throws PodException {
    long length = answer.contentLength();
    int limit = settings.wholeBytes();
    buffer = new byte[(int) Math.min(limit, length < 0 ? READ_BYTES : length)];
    while (true) {
      if (held == buffer.length) {
        if (length >= 0 && held == length) {
          // The body's end is known; this read only lets the connection be reused.
          return answer.read(new byte[1], 0, 1) < 0;
        }
        if (held == limit) {
          return false;
        }
        buffer = Arrays.copyOf(buffer, Math.min(limit, 2 * held));
      }
      waitingSince = System.nanoTime();
      int read = answer.read(buffer, held, buffer.length - held);
      begun = true;
      if (read < 0) {
        return true;
      }
      held += read;
    }
  }

  private void relay(Result.Sink client) throws IOException {
    Outcome outcome = new Outcome.Failed(false, "given up");
    try {
      UsageFilter filter = call.withoutUsage() ? new UsageFilter(client) : null;
      Result.Sink sink = filter == null ? client : filter;
      PodResponse answer = Objects.requireNonNull(response);
      int read = held;
      while (read >= 0) {
        waitingSince = NOT_WAITING;
        tap.accept(buffer, 0, read);
        chosen.reservation().moved();
        tell();
        sink.write(buffer, 0, read);
        waitingSince = System.nanoTime();
        read = answer.read(buffer, 0, buffer.length);
      }
      tap.end();
      if (filter != null) {
        filter.end();
      }
      outcome = streamed(answer);
    } catch (PodException e) {
      outcome = stop == Stop.CLIENT_LEFT ? new Outcome.Cancelled() : outcomeOf(e);
      throw e;
    } catch (IOException e) {
      // Not the pod's: the client's socket took no more.
      outcome = new Outcome.Cancelled();
      throw e;
    } finally {
      settle(outcome);
      listener.ended(report(outcome));
    }
  }

  private void tell() {
    identify();
    if (!firstToken && tap.firstToken()) {
      firstToken = true;
      chosen.reservation().firstToken();
      listener.firstToken();
    }
  }

  private void identify() {
    if (!identified && !tap.id().isEmpty()) {
      identified = true;
      listener.identified(tap.id(), chosen.worker());
    }
  }

  private Outcome streamed(PodResponse answer) {
    if (tap.failed()) {
      return new Outcome.Failed(false, "an error inside the stream");
    }
    if (call.terminated() && tap.form() == AnswerTap.Form.EVENTS && answer.status() < 300 && !tap.ended()) {
      boolean framed = answer.contentLength() >= 0 || answer.headers().hasToken("Transfer-Encoding", "chunked");
      return new Outcome.Failed(!framed, "a stream without its end");
    }
    return completed();
  }

  private Outcome completed() {
    return new Outcome.Completed(
        tap.promptTokens(), tap.cachedTokens(), tap.outputTokens(), TimeUnit.NANOSECONDS.toMicros(firstByteNanos));
  }

  private Try failed(PodException e) {
    Stop why = stop;
    if (why == Stop.CLIENT_LEFT) {
      settle(new Outcome.Cancelled());
      return new Try.Left();
    }
    Outcome.Failed outcome = outcomeOf(e);
    settle(outcome);
    boolean late = why != null
        || e.kind() == PodException.Kind.HEAD_TIMEOUT
        || e.kind() == PodException.Kind.IDLE_TIMEOUT;
    boolean untouched = e.kind() == PodException.Kind.CONNECT;
    return new Try.Failed(
        late ? "timeout" : e.kind().name().toLowerCase(Locale.ROOT),
        outcome.detail(),
        outcome.transport(),
        late,
        why != Stop.TOTAL && (untouched || call.repeatable()),
        null);
  }

  private Outcome.Failed outcomeOf(PodException e) {
    Stop why = stop;
    boolean transport = switch (e.kind()) {
      case CONNECT, RESET, TRUNCATED -> true;
      case HEAD_TIMEOUT, IDLE_TIMEOUT, PROTOCOL, ABORTED -> false;
    };
    return new Outcome.Failed(transport, why != null ? why.text : String.valueOf(e.getMessage()));
  }

  /** Lets go of everything. The first outcome counts. */
  private void settle(Outcome outcome) {
    if (!settled.compareAndSet(false, true)) {
      return;
    }
    Future<?> running = watch;
    if (running != null) {
      running.cancel(false);
    }
    if (response != null) {
      response.close();
    } else {
      podCall.abort();
    }
    Reservation reservation = chosen.reservation();
    reservation.close(outcome);
    metrics.ended(outcome);
  }

  private Report report(Outcome outcome) {
    return new Report(
        chosen.worker(),
        outcome,
        tries,
        chosen.predictedCachedTokens(),
        chosen.confirmedCachedTokens(),
        tap.promptTokens(),
        tap.cachedTokens(),
        tap.outputTokens(),
        decideNanos,
        headNanos);
  }

  private void stop(Stop why) {
    if (stop == null) {
      stop = why;
    }
    podCall.abort();
  }

  /** Looks at the deadlines, and comes back when the next one is due: one timer per attempt, none per event. */
  private void watch() {
    if (settled.get()) {
      return;
    }
    long now = System.nanoTime();
    long waiting = waitingSince;
    long untilTotal = deadline - now;
    long patience = (begun ? settings.idle() : settings.firstByte()).toNanos();
    long untilNext = begun
        ? (waiting == NOT_WAITING ? patience : patience - (now - waiting))
        : patience - (now - started);
    if (untilTotal <= 0) {
      stop(Stop.TOTAL);
    } else if (untilNext <= 0) {
      stop(begun ? Stop.IDLE : Stop.FIRST_BYTE);
    } else {
      // Never later than the shorter patience, which may begin to count meanwhile.
      long delay = Math.min(Math.min(untilTotal, untilNext), settings.idle().toNanos());
      watch = timer.schedule(this::watch, delay, TimeUnit.NANOSECONDS);
      if (settled.get()) {
        // Settled in between, with the future of the round before.
        Objects.requireNonNull(watch).cancel(false);
      }
    }
  }
}
