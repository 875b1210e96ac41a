package io.kvasir.telemetry;

import org.jspecify.annotations.Nullable;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * The ids that the log's lines about a request carry, as fields of their own. Immutable.
 *
 * @param requestId its {@code X-Request-Id}
 * @param traceId of its W3C trace context, null without one
 */
public record LogIds(String requestId, @Nullable String traceId) {
  /** The line with these ids. */
  public LoggingEventBuilder in(LoggingEventBuilder line) {
    LoggingEventBuilder named = line.addKeyValue("request_id", requestId);
    return traceId == null ? named : named.addKeyValue("trace_id", traceId);
  }
}
