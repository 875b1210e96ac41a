package io.kvasir.execution.attempt;

import io.kvasir.http.client.PodException;
import java.util.Locale;

/** Why an {@link Attempt} has no answer for the client. */
public enum FailureKind {
  /** The worker answered with an error. */
  ERROR,
  /** It answered that it has no room. */
  BUSY,
  /** It answered that it does not serve the request's model. */
  UNKNOWN_MODEL,
  /** It answered with a stream of nothing. */
  EMPTY,
  /** What it answered is not understood. */
  PROTOCOL,
  /** A step that was to tell where the KV cache is handed over failed. */
  BOOTSTRAP,
  /** The router's own part failed. */
  INTERNAL,
  /** The attempt was ended by the router. */
  ABORTED,
  /** There was no connection. */
  CONNECT,
  /** The connection ended before the request was sent. */
  UNSENT,
  /** The connection ended after the request was sent, or might as well have. */
  RESET,
  /** The connection ended within the answer. */
  TRUNCATED,
  /**
   * A {@link Rescue} took the request from the worker, of which nothing came, and has taken the retry that it needs.
   */
  STRANDED,
  /** A deadline passed. */
  TIMEOUT;

  private final String label = name().toLowerCase(Locale.ROOT);

  /** That of a call that failed by itself. */
  static FailureKind of(PodException failure) {
    return switch (failure.kind()) {
      case CONNECT -> CONNECT;
      case UNSENT -> UNSENT;
      case RESET -> RESET;
      case TRUNCATED -> TRUNCATED;
      case HEAD_TIMEOUT, IDLE_TIMEOUT -> TIMEOUT;
      case PROTOCOL -> PROTOCOL;
      case ABORTED -> ABORTED;
    };
  }

  /** Its name in metrics and reasons. */
  public String label() {
    return label;
  }

  /** Whether the worker cannot have seen the request. */
  boolean isBeforeRequest() {
    return this == CONNECT || this == UNSENT;
  }

  /** Whether the request is suspected to have ended the worker, or to hang it. */
  boolean isSuspect() {
    return this == RESET || this == TRUNCATED || this == STRANDED;
  }

  /** Whether the connection failed, and so the whole pod. */
  public boolean isOfTransport() {
    return isBeforeRequest() || isSuspect();
  }

  /** Whether the worker answered with an error that is not just that it is full, or not in time. */
  public boolean isErrorOrTimeout() {
    return this == ERROR || this == TIMEOUT;
  }
}
