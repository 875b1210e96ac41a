package io.kvasir.discovery;

import io.kvasir.cell.PodSource;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How a source of pods is doing, for metrics, readiness and the log. Thread-safe. */
public final class SourceState {
  private static final Logger LOG = LoggerFactory.getLogger(SourceState.class);
  private static final int MAX_SHOWN = 5;

  private final String source;
  private final Counter reads;
  private final Gauge pods;
  private final Gauge faultsNow;
  private volatile List<String> faults = List.of();

  /** Registers the metrics of a source; once for each. */
  SourceState(PodSource source, Metrics metrics) {
    this.source = source.name().toLowerCase(Locale.ROOT);
    String prefix = "kvasir_discovery_" + this.source;
    this.reads = Counter.builder()
        .name(prefix + "_reads_total")
        .help("How often this node asked " + this.source + " for pods, by result: taken, faulty, failed")
        .labelNames("result")
        .register(metrics.registry());
    this.pods = Gauge.builder()
        .name(prefix + "_pods")
        .help("Pods that " + this.source + " has, on the node that asks it")
        .register(metrics.registry());
    this.faultsNow = Gauge.builder()
        .name(prefix + "_faults")
        .help("What is wrong with the pods that " + this.source + " has; those are not taken")
        .register(metrics.registry());
  }

  /** What this node serves with less because of the source, in plain words. */
  public List<String> degraded() {
    List<String> now = faults;
    if (now.size() <= MAX_SHOWN) {
      return now;
    }
    List<String> shown = new ArrayList<>(now.subList(0, MAX_SHOWN));
    shown.add("... and " + (now.size() - MAX_SHOWN) + " more faults of pods from " + source);
    return shown;
  }

  /** The source was read, and so many of its pods were taken; {@code wrong} tells of others. */
  void accepted(int count, List<String> wrong) {
    reads.labelValues(wrong.isEmpty() ? "taken" : "faulty").inc();
    pods.set(count);
    report(wrong);
  }

  /** The source was read and refused whole: what was known stays. */
  void rejected(List<String> wrong) {
    reads.labelValues("faulty").inc();
    report(wrong);
  }

  /** The source could not be asked: what was known stays. */
  void failed(String why) {
    reads.labelValues("failed").inc();
    report(List.of(why));
  }

  /** This node does not ask any more. */
  void stopped() {
    faults = List.of();
    faultsNow.set(0);
    pods.set(0);
  }

  private void report(List<String> wrong) {
    if (!wrong.equals(faults)) {
      wrong.forEach(fault -> LOG.warn("pods from {}: {}", source, fault));
      if (wrong.isEmpty()) {
        LOG.info("pods from {}: all faults are gone", source);
      }
    }
    faults = List.copyOf(wrong);
    faultsNow.set(wrong.size());
  }
}
