package io.kvasir.gateway.request;

import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.GateRefusal;
import io.kvasir.http.Cancellation;
import io.kvasir.http.server.Exchange;
import io.kvasir.prompt.PreparationLimiter;
import io.kvasir.prompt.PreparationLimiter.Permit;
import java.util.concurrent.CancellationException;

/** Lets requests be read and prepared, as many at a time as the router's limiter allows. Thread-safe. */
final class PreparationPermits {
  private static final int RETRY_SECONDS = 2;

  private final PreparationLimiter limiter;

  PreparationPermits(PreparationLimiter limiter) {
    this.limiter = limiter;
  }

  /** Waits for the turn of a request's body. Whoever has it closes the permit. */
  Permit acquire(Exchange exchange, Cancellation cancellation) throws ApiException, InterruptedException {
    try {
      return limiter.acquire(exchange.body().length, cancellation);
    } catch (PreparationLimiter.OverloadException e) {
      throw new ApiException(
          ApiError.of(503, "preparation_overload",
              "The router is busy: %s. Try again shortly.".formatted(e.getMessage()))
              .retryAfter(RETRY_SECONDS)
              .refusedBy(GateRefusal.of(e)));
    } catch (CancellationException e) {
      throw new ApiException(ApiError.CLIENT_LEFT);
    }
  }
}
