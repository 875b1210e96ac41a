package io.kvasir.http.server;

import io.kvasir.http.CancellationSource;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.jspecify.annotations.Nullable;

/**
 * What of a connection others than its stream may end: the exchange in progress, which the client's disconnecting
 * cancels, or before it the body that is awaited for it. Thread-safe.
 */
final class OpenExchange {
  private final AwaitedInput awaited;

  /** Set under this. */
  private volatile boolean disconnected;

  // Guarded by this.
  private @Nullable CancellationSource cancellation;
  private @Nullable AsyncCallback<RefusedRequestException> bodyFailed;

  OpenExchange(AwaitedInput awaited) {
    this.awaited = awaited;
  }

  /** Starts the time limit for a body whose head has come: {@code failed} is called when it cannot be had whole. */
  synchronized void awaitBody(AsyncCallback<RefusedRequestException> failed) {
    bodyFailed = failed;
    awaited.awaitBody();
  }

  /** Refuses the request whose body is being awaited, if one is. */
  void failBody(RefusedRequestException why) {
    AsyncCallback<RefusedRequestException> failed;
    synchronized (this) {
      failed = bodyFailed;
      bodyFailed = null;
    }
    if (failed != null) {
      awaited.awaitNothing();
      failed.invoke(why);
    }
  }

  /** Notes that an exchange begins; false when the client has disconnected, or the connection is being closed. */
  synchronized boolean start(CancellationSource next) {
    bodyFailed = null;
    if (disconnected || !awaited.awaitNothing()) {
      return false;
    }
    cancellation = next;
    return true;
  }

  /** Notes that it has its answer: nothing cancels it any more. */
  void complete() {
    CancellationSource answered;
    synchronized (this) {
      answered = cancellation;
      cancellation = null;
    }
    if (answered != null) {
      answered.close();
    }
  }

  /** Cancels it, for the client has disconnected; none begins from then on. Idempotent. */
  void disconnect() {
    CancellationSource cut;
    synchronized (this) {
      disconnected = true;
      cut = cancellation;
      cancellation = null;
    }
    if (cut != null) {
      cut.cancel();
    }
  }

  /** Whether {@link #disconnect} has been called. */
  boolean isDisconnected() {
    return disconnected;
  }
}
