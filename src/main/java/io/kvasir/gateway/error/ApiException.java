package io.kvasir.gateway.error;

import java.io.Serial;

/** A request that cannot be served. Carries no stack: the fault is in the client's request, not in the router. */
public class ApiException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final transient ApiError error;

  /** Has the request answered with {@code error}. */
  public ApiException(ApiError error) {
    super(error.message(), null, false, false);
    this.error = error;
  }

  public ApiError error() {
    return error;
  }
}
