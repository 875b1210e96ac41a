package io.kvasir.discovery;

import io.kvasir.cell.PodSource;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The state of a source of pods, for metrics, readiness and the log. Thread-safe. */
public final class SourceState {
  private static final Logger LOG = LoggerFactory.getLogger(SourceState.class);
  private static final int MAX_REPORTED = 5;

  private final String source;
  private final Counter reads;
  private final Gauge pods;
  private final Gauge faultCount;
  private volatile List<String> faults = List.of();
  private volatile String remedy = "";

  /** Registers the metrics of a source; once per source. */
  SourceState(PodSource source, Metrics metrics) {
    this.source = source.name().toLowerCase(Locale.ROOT);
    String prefix = "kvasir_discovery_" + this.source;
    this.reads = Counter.builder()
        .name(prefix + "_reads_total")
        .help("Reads of the pods of " + this.source + " by this node, by result: taken, faulty, failed")
        .labelNames("result")
        .register(metrics.registry());
    this.pods = Gauge.builder()
        .name(prefix + "_pods")
        .help("Valid pods of " + this.source + ", on the node that reads it")
        .register(metrics.registry());
    this.faultCount = Gauge.builder()
        .name(prefix + "_faults")
        .help("Faults of the pods of " + this.source + "; pods with faults are not used")
        .register(metrics.registry());
  }

  /** The faults of the source and of its pods; no more than a few. */
  public List<Problem> problems() {
    List<String> current = faults;
    List<String> reported = new ArrayList<>(current.subList(0, Math.min(MAX_REPORTED, current.size())));
    if (current.size() > MAX_REPORTED) {
      reported.add("... and " + (current.size() - MAX_REPORTED) + " more faults of pods from " + source);
    }
    String mend = remedy;
    return reported.stream().map(fault -> Problem.warning(fault, mend)).toList();
  }

  /** The source was read: {@code count} pods are valid, the others have faults. */
  void accepted(int count, List<String> podFaults) {
    reads.labelValues(podFaults.isEmpty() ? "taken" : "faulty").inc();
    pods.set(count);
    report(podFaults, "correct the pod where it is declared: until then it gets no requests");
  }

  /** The source was read and rejected whole: the known pods stay. */
  void rejected(List<String> sourceFaults) {
    reads.labelValues("faulty").inc();
    report(sourceFaults, "correct it: it is read again when it has changed, and the pods known before stay");
  }

  /** The source could not be read: the known pods stay. */
  void failed(String reason) {
    reads.labelValues("failed").inc();
    report(
        List.of(reason),
        "see that this node can reach and read it: it is tried again, and the pods known before stay");
  }

  /** This node no longer reads the source. */
  void stopped() {
    faults = List.of();
    faultCount.set(0);
    pods.set(0);
  }

  private void report(List<String> current, String mend) {
    if (!current.equals(faults)) {
      current.forEach(fault -> LOG.warn("pods from {}: {}", source, fault));
      if (current.isEmpty()) {
        LOG.info("pods from {}: no faults any more", source);
      }
    }
    remedy = mend;
    faults = List.copyOf(current);
    faultCount.set(current.size());
  }
}
