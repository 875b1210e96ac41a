package io.kvasir.app.node;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.util.function.IntSupplier;

/** The metrics of how engines' load is read. One per registry; thread-safe. */
final class LoadMetrics {
  private final CounterDataPoint pushed;
  private final CounterDataPoint polled;
  private final Counter malformed;

  /**
   * Registers them.
   *
   * @param live counts the engines whose load is pushed now
   * @param silent counts those that announce it, and push nothing
   */
  LoadMetrics(Metrics metrics, IntSupplier live, IntSupplier silent) {
    Counter reads =
        Counter.builder()
            .name("kvasir_engine_load_reads_total")
            .help("Times an engine's load was read, by source: pushed by the engine, or polled at its metrics.")
            .labelNames("source")
            .register(metrics.registry());
    pushed = reads.labelValues("pushed");
    polled = reads.labelValues("polled");
    malformed =
        Counter.builder()
            .name("kvasir_engine_load_malformed_total")
            .help("Messages of pushed load that cannot be read.")
            .register(metrics.registry());
    GaugeWithCallback.builder()
        .name("kvasir_engine_load_feeds")
        .help("Engines that announce that they push their load, by state: live, or silent, so that they are polled.")
        .labelNames("state")
        .callback(gauge -> {
          gauge.call(live.getAsInt(), "live");
          gauge.call(silent.getAsInt(), "silent");
        })
        .register(metrics.registry());
  }

  void pushed() {
    pushed.inc();
  }

  void polled() {
    polled.inc();
  }

  void malformed() {
    malformed.inc();
  }
}
