package io.kvasir.telemetry;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of a node; every package registers its own in the registry. Thread-safe.
 */
public final class Metrics {
  private final PrometheusRegistry registry;
  private final ExpositionFormats formats = ExpositionFormats.init();
  private volatile Function<MetricSnapshots, List<MetricSnapshot>> derivation = _ -> List.of();

  /** Metrics in a registry; each node of a process has its own. */
  public Metrics(PrometheusRegistry registry) {
    this.registry = registry;
  }

  /** Registers the JVM's metrics: memory, garbage collection, threads. */
  public Metrics withJvm() {
    JvmMetrics.builder().register(registry);
    return this;
  }

  /** Registers a counter; its name ends in {@code _total}. */
  public Counter counter(String name, String help, String... labels) {
    return Counter.builder().name(name).help(help).labelNames(labels).register(registry);
  }

  /** Adds to what scrapers read what is derived of it, such as the same metrics by other names. */
  public void derive(Function<MetricSnapshots, List<MetricSnapshot>> more) {
    derivation = more;
  }

  public PrometheusRegistry registry() {
    return registry;
  }

  /**
   * Writes all metrics in the best format that a scraper accepts.
   *
   * @param accept the scraper's {@code Accept} header, null when it sent none
   * @return the format's content type
   */
  public String write(@Nullable String accept, OutputStream out) throws IOException {
    ExpositionFormatWriter writer = formats.findWriter(accept);
    writer.write(out, scrape());
    return writer.getContentType();
  }

  private MetricSnapshots scrape() {
    MetricSnapshots own = registry.scrape();
    List<MetricSnapshot> derived = derivation.apply(own);
    return derived.isEmpty() ? own : new MetricSnapshots(Stream.concat(own.stream(), derived.stream()).toList());
  }
}
