package io.kvasir.gateway;

import java.io.Serial;

/** A request whose body cannot be read, or is none that its API takes. */
final class UnreadBodyException extends ApiException {
  @Serial private static final long serialVersionUID = 1L;

  private final UnreadBody why;

  UnreadBodyException(UnreadBody why, ApiError error) {
    super(error);
    this.why = why;
  }

  UnreadBody why() {
    return why;
  }
}
