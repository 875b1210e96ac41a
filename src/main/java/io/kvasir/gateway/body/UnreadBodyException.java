package io.kvasir.gateway.body;

import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import java.io.Serial;

/** A request whose body cannot be read, or is none that its API takes. */
public final class UnreadBodyException extends ApiException {
  @Serial private static final long serialVersionUID = 1L;

  private final UnreadBody why;

  /** Refuses the request with {@code error}, unless it can be served unread. */
  public UnreadBodyException(UnreadBody why, ApiError error) {
    super(error);
    this.why = why;
  }

  public UnreadBody why() {
    return why;
  }
}
