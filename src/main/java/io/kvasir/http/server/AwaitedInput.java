package io.kvasir.http.server;

import io.kvasir.http.server.HttpSettings.Timeouts;
import io.kvasir.http.server.ProgressDeadline.Limits;
import io.kvasir.time.NanoClock;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What a client has to send next, and how long it may take for that. Thread-safe. */
final class AwaitedInput {
  /** How long a client may take to read the last answer and close; its further bytes are discarded. */
  private static final long CLOSE_NANOS = 1_000_000_000L;

  /** What is awaited. */
  enum Phase {
    /** A request's first byte. */
    IDLE,
    /** The rest of a head. */
    HEAD,
    /** The rest of a body. */
    BODY,
    /** Nothing: the request is being answered. */
    ANSWERING,
    /** Nothing: the client has to close, for the last answer has been written. This is the last phase. */
    LINGER
  }

  /** What has been awaited for too long. */
  record Late(Phase phase, ProgressDeadline.Excess excess) {
    /** Why the request is refused of which {@code what} is late; {@code limit} is that of the whole of it. */
    RefusedRequestException refusal(String what, ReachedLimit.Kind limit) {
      return new RefusedRequestException(
          new RequestFailure(
              408,
              what + " did not arrive in time",
              new ReachedLimit(
                  excess.stalled() ? ReachedLimit.Kind.STALL_TIME : limit,
                  TimeUnit.NANOSECONDS.toMillis(excess.nanos()),
                  TimeUnit.NANOSECONDS.toMillis(excess.most()))));
    }
  }

  private final Timeouts timeouts;
  private final ProgressDeadline deadline;

  // Guarded by this.
  private Phase phase = Phase.IDLE;

  /** The first request of a connection: its head, whole, within the time limit for heads. */
  AwaitedInput(Timeouts timeouts, NanoClock clock) {
    this.timeouts = timeouts;
    this.deadline = new ProgressDeadline(clock);
    deadline.start(Limits.total(timeouts.head().toNanos()));
  }

  /** Notes that so many bytes came; false when they are to be dropped. */
  synchronized boolean received(int bytes) {
    headBegun();
    deadline.progress(bytes);
    return phase != Phase.LINGER;
  }

  /** Awaits the rest of a head, if a request was awaited. */
  synchronized void headBegun() {
    if (phase == Phase.IDLE) {
      enter(Phase.HEAD, timeouts.headLimits());
    }
  }

  synchronized void awaitBody() {
    if (phase != Phase.LINGER) {
      enter(Phase.BODY, timeouts.bodyLimits());
    }
  }

  synchronized boolean isBody() {
    return phase == Phase.BODY;
  }

  /** Awaits nothing as long as a request is being answered; false when the connection is being closed. */
  synchronized boolean awaitNothing() {
    if (phase == Phase.LINGER) {
      return false;
    }
    phase = Phase.ANSWERING;
    deadline.stop();
    return true;
  }

  synchronized void awaitRequest() {
    if (phase != Phase.LINGER) {
      enter(Phase.IDLE, Limits.total(timeouts.idle().toNanos()));
    }
  }

  /** Awaits that the client closes; false when that was so already. */
  synchronized boolean awaitClose() {
    if (phase == Phase.LINGER) {
      return false;
    }
    enter(Phase.LINGER, Limits.total(CLOSE_NANOS));
    return true;
  }

  /** The same, only if a request is awaited of which nothing has come; false when that is not so. */
  synchronized boolean awaitCloseIfIdle() {
    return phase == Phase.IDLE && awaitClose();
  }

  synchronized boolean isClosing() {
    return phase == Phase.LINGER;
  }

  /** For how many nanoseconds a request has been awaited of which nothing has come; negative when none is. */
  synchronized long idleNanos(long now) {
    return phase == Phase.IDLE ? now - deadline.began() : -1;
  }

  /** What has been awaited for too long, told once; null when nothing has. */
  synchronized @Nullable Late exceeded(long now) {
    ProgressDeadline.Excess excess = deadline.excess(now);
    if (excess == null) {
      return null;
    }
    deadline.stop();
    return new Late(phase, excess);
  }

  private void enter(Phase next, Limits limits) {
    phase = next;
    deadline.start(limits);
  }
}
