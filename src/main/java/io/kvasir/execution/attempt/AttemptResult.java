package io.kvasir.execution.attempt;

import io.kvasir.execution.Result;
import org.jspecify.annotations.Nullable;

/** The result of one {@link Attempt}. */
public sealed interface AttemptResult {
  /** The worker responded, and its response is the client's or a later step's. */
  record Responded(Result result) implements AttemptResult {}

  /**
   * The worker failed, and nothing has reached the client.
   *
   * @param why the kind of failure, as metrics name it
   * @param detail the failure in words, for the log and for the client when no worker responds
   * @param cause what failed
   * @param retryable whether another worker may get the request
   * @param errorResponse the worker's error response, null without one
   */
  record Failed(
      String why,
      String detail,
      Cause cause,
      boolean retryable,
      Result.@Nullable Buffered errorResponse)
      implements AttemptResult {
    /** The kind of failure of a worker that answers with an error. */
    public static final String ERROR = "error";

    /** What failed. */
    public enum Cause {
      /** The worker's answer, or the router's own part. */
      ANSWER,
      /** There was no connection, or it ended before the request was sent. */
      CONNECTION,
      /**
       * The connection ended after the request was sent, or might as well have: the request may be what ended the
       * worker.
       */
      DISCONNECT,
      /**
       * A {@link Rescue} took the request from its worker, of which nothing came, and has taken the retry that it
       * needs: the request may be what hangs the worker.
       */
      STRANDED,
      /** A deadline passed. */
      TIMEOUT
    }

    /** A failure that is neither the connection's nor a timeout, and without an error response. */
    public static Failed of(String why, String detail, boolean retryable) {
      return new Failed(why, detail, Cause.ANSWER, retryable, null);
    }

    /** Whether the worker answered with an error that is not just that it is full, or not in time. */
    public boolean isErrorOrTimeout() {
      return (cause == Cause.ANSWER && why.equals(ERROR)) || cause == Cause.TIMEOUT;
    }

    /** Whether the request is suspected to have ended or to hang the worker. */
    boolean isSuspect() {
      return cause == Cause.DISCONNECT || cause == Cause.STRANDED;
    }

    /** Whether the connection failed, and so the whole pod. */
    public boolean transport() {
      return cause == Cause.CONNECTION || isSuspect();
    }
  }

  /** The attempt was aborted without a fault of the worker. */
  record Aborted(AbortReason why) implements AttemptResult {}
}
