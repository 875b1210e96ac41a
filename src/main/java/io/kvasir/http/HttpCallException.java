package io.kvasir.http;

import java.io.IOException;
import java.io.Serial;

/** An HTTP call that has no usable response. The message has the address and the reason. */
public final class HttpCallException extends IOException {
  @Serial private static final long serialVersionUID = 1;

  private final Kind kind;

  /** What went wrong with a call. */
  public enum Kind {
    /** The response was not complete at the call's deadline. */
    TIMEOUT,
    /** The response's body is larger than the call allows. */
    TOO_LARGE,
    /** The response has another status than expected. */
    STATUS,
    /** The response's body is not the JSON that was expected. */
    NOT_JSON,
    /** No connection could be made, or it broke, or what came is not HTTP. */
    IO
  }

  /** A call whose response cannot be used. */
  public HttpCallException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  HttpCallException(Kind kind, String message, Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }
}
