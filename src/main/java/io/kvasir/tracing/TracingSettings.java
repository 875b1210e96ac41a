package io.kvasir.tracing;

import java.time.Duration;
import java.util.Set;

/**
 * Settings of traces. The standard environment variables of OpenTelemetry go before them.
 *
 * @param endpoint base URL of the collector: spans go to its {@code /v1/traces}. Where it is empty, and the environment
 *     has none, requests are not traced, and their trace context passes as it came
 * @param serviceName of all of the router's nodes
 * @param sample share of requests without a decision of their client's that are traced, 0 to 1
 * @param always requests that are traced even if they are not in the sample
 * @param slow time to the first token above which a request is slow
 */
public record TracingSettings(
    String endpoint, String serviceName, double sample, Set<Rule> always, Duration slow) {
  /** Which requests are traced even if they are not in the sample. */
  public enum Rule {
    /** The answer is an error, or a worker failed. */
    ERROR,
    /** The router refused it for want of room. */
    REFUSAL,
    /** It waited long for its first token. */
    SLOW
  }

  /** No traces. */
  public static final TracingSettings OFF = new TracingSettings("", "kvasir", 0, Set.of(), Duration.ZERO);

  /** Copies what it is given. */
  public TracingSettings {
    always = Set.copyOf(always);
  }
}
