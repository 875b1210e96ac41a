package io.kvasir.kubernetes.inference;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;

/** The metrics of inference pools and what belongs to them. Thread-safe. */
public final class InferenceMetrics {
  /** What became of a write to an object's status. */
  enum Write {
    WRITTEN("written"), CONFLICT("conflict"), FAILED("failed");

    private final String label;

    Write(String label) {
      this.label = label;
    }
  }

  private final Gauge objects;
  private final Gauge faulty;
  private final Counter writes;

  /** Registers them; once per node. */
  public InferenceMetrics(Metrics metrics) {
    this.objects = Gauge.builder()
        .name("kvasir_kubernetes_objects")
        .help("Objects of Kubernetes that describe inference pools, as this node knows them, by kind")
        .labelNames("kind")
        .register(metrics.registry());
    this.faulty = Gauge.builder()
        .name("kvasir_kubernetes_objects_faulty")
        .help("Those of them with a fault: their last valid state stays in force")
        .labelNames("kind")
        .register(metrics.registry());
    this.writes = Counter.builder()
        .name("kvasir_kubernetes_status_writes_total")
        .help("Writes to the status of such objects by this node, by result: written, conflict, failed")
        .labelNames("result")
        .register(metrics.registry());
  }

  void known(InferenceKind kind, int count, int withFaults) {
    objects.labelValues(kind.kind()).set(count);
    faulty.labelValues(kind.kind()).set(withFaults);
  }

  void write(Write result) {
    writes.labelValues(result.label).inc();
  }
}
