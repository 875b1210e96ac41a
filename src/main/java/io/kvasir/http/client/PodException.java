package io.kvasir.http.client;

import java.io.IOException;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A pod gave no answer, or not the whole of it. */
public final class PodException extends IOException {
  @Serial private static final long serialVersionUID = 1L;

  /** What went wrong. */
  public enum Kind {
    /** No connection: refused, unreachable, unknown host, handshake failed, too late. */
    CONNECT,
    /** The connection was closed or reset before the whole request was sent: the pod cannot have carried it out. */
    UNSENT,
    /** The connection was closed or reset after the request was sent, before the answer's head was complete. */
    RESET,
    /** The head did not come in time. */
    HEAD_TIMEOUT,
    /** The body stood still for too long. */
    IDLE_TIMEOUT,
    /** The body ended before its end. */
    TRUNCATED,
    /** What came is not HTTP/1.1, or beyond the limits. */
    PROTOCOL,
    /** {@link PodCall#abort} was called. */
    ABORTED
  }

  private final Kind kind;

  /** A call that failed; {@code message} is for the log. */
  public PodException(Kind kind, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  /** What went wrong. */
  public Kind kind() {
    return kind;
  }
}
