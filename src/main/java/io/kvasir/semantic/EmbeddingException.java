package io.kvasir.semantic;

import java.io.Serial;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;

/** A text has no embedding, or none that is of use. */
final class EmbeddingException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  private final Reason reason;

  EmbeddingException(Reason why, String message) {
    super(message);
    this.reason = why;
  }

  Reason reason() {
    return reason;
  }

  /** What a call's failure was, whatever it is wrapped in. */
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

  /** What metrics count it as. */
  enum Reason {
    /** There are no centroids yet. */
    STARTING,
    /** It took longer than the budget. */
    LATE,
    /** Too many calls are under way. */
    BUSY,
    /** The endpoint has failed lately and is tried only now and then. */
    AWAY,
    /** The call came to nothing: refused, cut, or longer than its timeout. */
    UNREACHABLE,
    /** It was answered with an error. */
    STATUS,
    /** It was answered with something that is no embedding. */
    GARBAGE,
    /** It has another length than the examples' have. */
    DIMENSION;

    String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
