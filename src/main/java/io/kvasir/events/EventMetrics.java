package io.kvasir.events;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;

/** What operators see of the event streams, over all workers. One per process; thread-safe. */
public final class EventMetrics {
  private final Counter messages;
  private final CounterDataPoint stored;
  private final CounterDataPoint removed;
  private final CounterDataPoint cleared;
  private final Counter gaps;
  private final CounterDataPoint gapsClosed;
  private final CounterDataPoint gapsAbandoned;
  private final Counter missed;
  private final Counter replays;
  private final Counter restarts;
  private final Counter duplicates;
  private final Counter faults;
  private final Counter misframed;
  private final Histogram lag;
  private final Gauge queued;
  private final Gauge connected;

  /** Creates the room's metrics; once per registry. */
  public EventMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    messages = counter("messages_total", "Event messages taken into account, replayed ones included.", registry);
    Counter events =
        Counter.builder()
            .name("kvasir_events_total")
            .help("Events of those messages by kind.")
            .labelNames("kind")
            .register(registry);
    stored = events.labelValues("stored");
    removed = events.labelValues("removed");
    cleared = events.labelValues("cleared");
    gaps = counter("gaps_total", "Times a stream could not prove that it missed nothing.", registry);
    Counter endings =
        Counter.builder()
            .name("kvasir_events_gap_endings_total")
            .help("How gaps ended: all was recovered, or messages are lost for good.")
            .labelNames("result")
            .register(registry);
    gapsClosed = endings.labelValues("closed");
    gapsAbandoned = endings.labelValues("abandoned");
    missed = counter("lost_messages_total", "Messages that are lost for good.", registry);
    replays = counter("replays_total", "Replays asked of engines.", registry);
    restarts = counter("restarts_total", "Engines found to have begun anew.", registry);
    duplicates = counter("duplicates_total", "Messages dropped because they had been delivered.", registry);
    faults =
        Counter.builder()
            .name("kvasir_events_decode_faults_total")
            .help("What was wrong or unfamiliar in messages.")
            .labelNames("kind")
            .register(registry);
    misframed = counter("misframed_total", "Messages whose frames are not topic, number and payload.", registry);
    lag =
        Histogram.builder()
            .name("kvasir_events_lag_seconds")
            .help("From the engine's publishing to delivery, by both clocks.")
            .classicUpperBounds(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
            .register(registry);
    queued =
        Gauge.builder()
            .name("kvasir_events_queued_messages")
            .help("Messages read from the transport and not yet taken.")
            .register(registry);
    connected =
        Gauge.builder().name("kvasir_events_connections").help("Event streams connected.").register(registry);
  }

  private static Counter counter(String name, String help, PrometheusRegistry registry) {
    return Counter.builder().name("kvasir_events_" + name).help(help).register(registry);
  }

  void read(Decoded decoded) {
    decoded.faults().forEach((fault, count) -> faults.labelValues(label(fault)).inc(count));
  }

  void delivered(KvBatch batch) {
    if (batch.sequence() != KvBatch.UNSEQUENCED) {
      messages.inc();
    }
    for (KvEvent event : batch.events()) {
      switch (event) {
        case KvEvent.Stored _ -> stored.inc();
        case KvEvent.Removed _ -> removed.inc();
        case KvEvent.Cleared _ -> cleared.inc();
        case KvEvent.Gap _ -> gaps.inc();
        case KvEvent.GapClosed _ -> gapsClosed.inc();
        case KvEvent.GapAbandoned(long from, long to) -> {
          gapsAbandoned.inc();
          missed.inc(to - from + 1);
        }
        case KvEvent.Restarted _ -> restarts.inc();
        case KvEvent.Connected _, KvEvent.Disconnected _ -> {}
      }
    }
  }

  void replay() {
    replays.inc();
  }

  void duplicate() {
    duplicates.inc();
  }

  void misframed() {
    misframed.inc();
  }

  void connections(int change) {
    connected.inc(change);
  }

  void queued(int change) {
    queued.inc(change);
  }

  /** Observes how old a message is, in microseconds; clocks may disagree, so it may be negative. */
  void lag(long micros) {
    lag.observe(Math.max(0, micros) / 1e6);
  }

  private static String label(DecodeFault fault) {
    return switch (fault) {
      case TRUNCATED -> "truncated";
      case MALFORMED -> "malformed";
      case TOO_LARGE -> "too_large";
      case UNKNOWN_EVENT -> "unknown_event";
      case UNKNOWN_FIELD -> "unknown_field";
      case UNKNOWN_MEDIUM -> "unknown_medium";
    };
  }
}
