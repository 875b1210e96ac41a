package io.kvasir.tracing;

import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * OpenTelemetry's own settings, by the names of their properties ({@code OTEL_SERVICE_NAME} is {@code
 * otel.service.name}): the environment's, and Kvasir's where that has none.
 *
 * @param properties all of them, for the SDK to read
 */
record OtlpSettings(Map<String, String> properties) {
  private static final String PREFIX = "OTEL_";
  private static final String ENDPOINT = "otel.exporter.otlp.endpoint";
  private static final String PROTOCOL = "otel.exporter.otlp.protocol";
  private static final String TRACES_PROTOCOL = "otel.exporter.otlp.traces.protocol";
  private static final String SAMPLER_ARG = "otel.traces.sampler.arg";
  private static final String HTTP = "http/protobuf";

  /**
   * How spans go together.
   *
   * @param maxQueued spans that may wait
   * @param maxSize spans of one message
   * @param delay how long the first span waits for others
   * @param timeout of a message, with all its tries
   */
  record Batches(int maxQueued, int maxSize, Duration delay, Duration timeout) {}

  /** Lays the environment over the settings. */
  static OtlpSettings of(TracingSettings settings, Map<String, String> environment) {
    Map<String, String> properties = new HashMap<>();
    if (!settings.endpoint().isBlank()) {
      properties.put(ENDPOINT, settings.endpoint());
    }
    properties.put("otel.service.name", settings.serviceName());
    properties.put("otel.traces.sampler", "parentbased_traceidratio");
    properties.put(SAMPLER_ARG, Double.toString(settings.sample()));
    properties.put(PROTOCOL, HTTP);
    properties.put("otel.exporter.otlp.compression", "gzip");
    environment.forEach((name, value) -> {
      if (name.startsWith(PREFIX) && !value.isBlank()) {
        properties.put(name.toLowerCase(Locale.ROOT).replace('_', '.'), value.strip());
      }
    });
    properties.put("otel.metrics.exporter", "none");
    properties.put("otel.logs.exporter", "none");
    return new OtlpSettings(Map.copyOf(properties));
  }

  /** Whether there is a collector, and nothing turns traces off. */
  boolean enabled() {
    boolean collector =
        properties.containsKey(ENDPOINT) || properties.containsKey("otel.exporter.otlp.traces.endpoint");
    return collector
        && !text("otel.sdk.disabled", "false").equalsIgnoreCase("true")
        && !text("otel.traces.exporter", "otlp").equals("none");
  }

  /**
   * Checks the way of export.
   *
   * @throws TracingException when it is another than there is
   */
  void requireHttp() throws TracingException {
    String exporter = text("otel.traces.exporter", "otlp");
    if (!exporter.equals("otlp")) {
      throw new TracingException(
          "OTEL_TRACES_EXPORTER is '%s'. Kvasir exports traces by otlp, or none.".formatted(exporter));
    }
    String protocol = text(TRACES_PROTOCOL, text(PROTOCOL, HTTP));
    if (!protocol.equals(HTTP)) {
      throw new TracingException(
          ("OTEL_EXPORTER_OTLP_PROTOCOL is '%s'. Kvasir speaks %s: set that, and the collector's port for HTTP, 4318 as"
              + " a rule.").formatted(protocol, HTTP));
    }
  }

  String sampler() {
    return text("otel.traces.sampler", "");
  }

  double samplerShare() throws TracingException {
    String share = text(SAMPLER_ARG, "1");
    try {
      return Double.parseDouble(share);
    } catch (NumberFormatException e) {
      throw new TracingException("OTEL_TRACES_SAMPLER_ARG is '%s'; a share is 0 to 1.".formatted(share), e);
    }
  }

  private String text(String name, String otherwise) {
    return properties.getOrDefault(name, otherwise);
  }
}
