package io.kvasir.gateway;

import java.io.Serial;

/** A request that cannot be served. Carries no stack: the fault is in the client's request, not in the router. */
class ApiException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final transient ApiError error;

  ApiException(ApiError error) {
    super(error.message(), null, false, false);
    this.error = error;
  }

  ApiError error() {
    return error;
  }
}
