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
   * @param detail the failure in words, for the log and for the client when no worker responds
   * @param retryable whether another worker may get the request
   * @param errorResponse the worker's error response, null without one
   */
  record Failed(FailureKind kind, String detail, boolean retryable, Result.@Nullable Buffered errorResponse)
      implements AttemptResult {
    /** A failure without an error response. */
    public static Failed of(FailureKind kind, String detail, boolean retryable) {
      return new Failed(kind, detail, retryable, null);
    }
  }

  /** The attempt was aborted without a fault of the worker. */
  record Aborted(AbortReason why) implements AttemptResult {}
}
