package io.kvasir.semantic;

import java.io.Serial;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;

/** A text that has no embedding, or an unusable one. */
final class EmbeddingException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  private final Reason reason;

  EmbeddingException(Reason reason, String message) {
    super(message);
    this.reason = reason;
  }

  Reason reason() {
    return reason;
  }

  /** The failure of a call, without what it is wrapped in. */
  static EmbeddingException of(Throwable failure) {
    Throwable inner = failure;
    while (inner instanceof CompletionException && inner.getCause() != null) {
      inner = inner.getCause();
    }
    return switch (inner) {
      case EmbeddingException one -> one;
      case TimeoutException late -> new EmbeddingException(Reason.LATE, "no answer within the budget");
      default -> new EmbeddingException(Reason.UNREACHABLE, String.valueOf(inner.getMessage()));
    };
  }

  /** The reason of a failure, as metrics count it. */
  enum Reason {
    /** There are no centroids yet. */
    STARTING("starting"),
    /** The embedding took longer than the budget. */
    LATE("late"),
    /** The maximum of concurrent calls was reached. */
    BUSY("busy"),
    /** The endpoint's circuit is open after failures. */
    CIRCUIT_OPEN("away"),
    /** The call failed: refused, cut, or longer than its timeout. */
    UNREACHABLE("unreachable"),
    /** The endpoint answered with an error. */
    STATUS("status"),
    /** The response has no embedding. */
    GARBAGE("garbage"),
    /** The embedding has another length than the examples'. */
    DIMENSION("dimension");

    private final String label;

    Reason(String label) {
      this.label = label;
    }

    /** The label of the metrics. */
    String label() {
      return label;
    }
  }
}
