package io.kvasir.telemetry;

import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * The process's metrics. One instance for each node, wired by the app; every room registers its own here.
 * Thread-safe.
 */
public final class Metrics {
  private final PrometheusRegistry registry;
  private final ExpositionFormats formats = ExpositionFormats.init();

  /** Metrics in a registry of their own, so that two nodes in one process do not meet. */
  public Metrics(PrometheusRegistry registry) {
    this.registry = registry;
  }

  /** Adds the JVM's own: memory, collectors, threads. */
  public Metrics withJvm() {
    JvmMetrics.builder().register(registry);
    return this;
  }

  /** Where rooms register what they measure. */
  public PrometheusRegistry registry() {
    return registry;
  }

  /**
   * Writes all of it in the best format a scraper takes.
   *
   * @param accept the scraper's {@code Accept} header, null when it sent none
   * @return the format's content type
   */
  public String write(@Nullable String accept, OutputStream out) throws IOException {
    ExpositionFormatWriter writer = formats.findWriter(accept);
    writer.write(out, registry.scrape());
    return writer.getContentType();
  }
}
