package io.kvasir.gateway;

import io.kvasir.execution.UpstreamRoute;
import io.kvasir.gateway.forwarding.ForwardedHeaders;
import io.kvasir.gateway.request.RequestHints;
import io.kvasir.http.Headers;
import io.kvasir.routing.Worker;
import java.nio.charset.StandardCharsets;

/**
 * The headers of a worker's answers.
 *
 * @param telemetry has how long the request waited
 * @param routingDetails whether the caller learns how the request was routed, which shows what is cached where
 */
record AnswerHeaders(String profile, boolean routingDetails, RequestTelemetry telemetry) {
  private static final String QUEUED = "X-Router-Queued-Ms";
  private static final String BACKEND = "X-Router-Backend";
  private static final String REASON = "X-Router-Reason";
  private static final String PREFILL_BACKEND = "X-Router-Prefill-Backend";

  Headers of(Headers headers, UpstreamRoute route) {
    Headers.Builder out = ForwardedHeaders.answer(headers);
    if (telemetry.waitedMillis() > 0) {
      out.set(QUEUED, Long.toString(telemetry.waitedMillis()));
    }
    if (!routingDetails) {
      return out.build();
    }
    out.set(BACKEND, route.worker().id())
        .set(RequestHints.PROFILE, profile)
        .set(REASON, visible(route.reason()));
    Worker prefill = route.prefill();
    if (prefill != null) {
      out.set(PREFILL_BACKEND, prefill.id());
    }
    return out.build();
  }

  /** An answer's headers without how its request was routed, for others that get it, too. */
  static Headers.Builder withoutRoute(Headers headers) {
    return headers.toBuilder()
        .remove(QUEUED)
        .remove(BACKEND)
        .remove(RequestHints.PROFILE)
        .remove(REASON)
        .remove(PREFILL_BACKEND);
  }

  private static String visible(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < ' ' || text.charAt(i) > '~') {
        return new String(text.getBytes(StandardCharsets.US_ASCII), StandardCharsets.US_ASCII)
            .replaceAll("\\p{Cntrl}", " ");
      }
    }
    return text;
  }
}
