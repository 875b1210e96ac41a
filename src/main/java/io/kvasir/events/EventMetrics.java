package io.kvasir.events;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.datapoints.GaugeDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;

/**
 * The metrics of event streams, over all workers, by the kind of source ({@code zmq}, {@code push} …). One per
 * registry; thread-safe.
 */
public final class EventMetrics {
  private static final String SOURCE = "source";

  private final Counter messages;
  private final Counter events;
  private final Counter gaps;
  private final Counter endings;
  private final Counter missed;
  private final Counter replays;
  private final Counter snapshots;
  private final Counter restarts;
  private final Counter duplicates;
  private final Counter faults;
  private final Counter misframed;
  private final Counter reconnects;
  private final Counter refused;
  private final Histogram lag;
  private final Gauge queued;
  private final Gauge connected;
  private final Gauge behind;

  /** Registers the metrics; once per registry. */
  public EventMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    messages = counter("messages_total", "Event messages delivered, replayed ones included.", registry);
    events =
        Counter.builder()
            .name("kvasir_events_total")
            .help("Events of delivered messages, by kind.")
            .labelNames(SOURCE, "kind")
            .register(registry);
    gaps = counter("gaps_total", "Gaps: times messages of a stream may have been missing.", registry);
    endings =
        Counter.builder()
            .name("kvasir_events_gap_endings_total")
            .help("Ends of gaps: closed (all messages recovered), abandoned (messages lost) or restarted (the engine is"
                + " another process, and has none of the messages).")
            .labelNames(SOURCE, "result")
            .register(registry);
    missed = counter("lost_messages_total", "Messages that were lost.", registry);
    replays = counter("replays_total", "Replay rounds requested from engines.", registry);
    snapshots =
        Counter.builder()
            .name("kvasir_events_snapshots_total")
            .help("Snapshots requested from engines, by result: read, failed (refused as incomplete, contradictory, too"
                + " large or too slow, or never answered) or unknown (the engine does not know the request).")
            .labelNames(SOURCE, "result")
            .register(registry);
    restarts = counter("restarts_total", "Restarts of engines detected.", registry);
    duplicates = counter("duplicates_total", "Duplicate messages dropped.", registry);
    faults =
        Counter.builder()
            .name("kvasir_events_decode_faults_total")
            .help("Faults and unknown parts of messages, by kind.")
            .labelNames(SOURCE, "kind")
            .register(registry);
    misframed = counter("misframed_total", "Messages without the expected frames or fields.", registry);
    reconnects = counter("reconnects_total", "Reconnects of transports after a lost connection.", registry);
    refused = counter("refused_total", "Pushed bodies refused because the queue was full.", registry);
    lag =
        Histogram.builder()
            .name("kvasir_events_lag_seconds")
            .help("Time from the engine's publishing to delivery, by both machines' clocks.")
            .labelNames(SOURCE)
            .classicUpperBounds(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
            .register(registry);
    queued =
        Gauge.builder()
            .name("kvasir_events_queued_messages")
            .help("Messages read from the transport and not yet delivered.")
            .labelNames(SOURCE)
            .register(registry);
    connected =
        Gauge.builder()
            .name("kvasir_events_connections")
            .help("Event streams connected.")
            .labelNames(SOURCE)
            .register(registry);
    behind =
        Gauge.builder()
            .name("kvasir_events_behind")
            .help("Event streams whose missing messages could not be requested, or that could not be read at all, since"
                + " no socket could be opened; until nothing is missing any more.")
            .labelNames(SOURCE)
            .register(registry);
  }

  private static Counter counter(String name, String help, PrometheusRegistry registry) {
    return Counter.builder().name("kvasir_events_" + name).help(help).labelNames(SOURCE).register(registry);
  }

  /** The metrics of one kind of source; its series exist from here on. */
  SourceMetrics of(String source) {
    return new SourceMetrics(source);
  }

  /** The metrics of one kind of source. Thread-safe. */
  final class SourceMetrics {
    private final String source;
    private final CounterDataPoint messages;
    private final CounterDataPoint stored;
    private final CounterDataPoint removed;
    private final CounterDataPoint cleared;
    private final CounterDataPoint gaps;
    private final CounterDataPoint gapsClosed;
    private final CounterDataPoint gapsAbandoned;
    private final CounterDataPoint gapsRestarted;
    private final CounterDataPoint missed;
    private final CounterDataPoint replays;
    private final CounterDataPoint snapshotsRead;
    private final CounterDataPoint snapshotsFailed;
    private final CounterDataPoint snapshotsUnknown;
    private final CounterDataPoint restarts;
    private final CounterDataPoint duplicates;
    private final CounterDataPoint misframed;
    private final CounterDataPoint reconnects;
    private final CounterDataPoint refused;
    private final DistributionDataPoint lag;
    private final GaugeDataPoint queued;
    private final GaugeDataPoint connected;
    private final GaugeDataPoint behind;

    private SourceMetrics(String source) {
      this.source = source;
      messages = EventMetrics.this.messages.labelValues(source);
      stored = events.labelValues(source, "stored");
      removed = events.labelValues(source, "removed");
      cleared = events.labelValues(source, "cleared");
      gaps = EventMetrics.this.gaps.labelValues(source);
      gapsClosed = endings.labelValues(source, "closed");
      gapsAbandoned = endings.labelValues(source, "abandoned");
      gapsRestarted = endings.labelValues(source, "restarted");
      missed = EventMetrics.this.missed.labelValues(source);
      replays = EventMetrics.this.replays.labelValues(source);
      snapshotsRead = snapshots.labelValues(source, "read");
      snapshotsFailed = snapshots.labelValues(source, "failed");
      snapshotsUnknown = snapshots.labelValues(source, "unknown");
      restarts = EventMetrics.this.restarts.labelValues(source);
      duplicates = EventMetrics.this.duplicates.labelValues(source);
      misframed = EventMetrics.this.misframed.labelValues(source);
      reconnects = EventMetrics.this.reconnects.labelValues(source);
      refused = EventMetrics.this.refused.labelValues(source);
      for (DecodeFault fault : DecodeFault.values()) {
        faults.initLabelValues(source, label(fault));
      }
      lag = EventMetrics.this.lag.labelValues(source);
      queued = EventMetrics.this.queued.labelValues(source);
      connected = EventMetrics.this.connected.labelValues(source);
      behind = EventMetrics.this.behind.labelValues(source);
    }

    void read(DecodedMessage decoded) {
      if (!decoded.faults().isEmpty()) {
        decoded.faults().forEach((fault, count) -> faults.labelValues(source, label(fault)).inc(count));
      }
    }

    void delivered(KvBatch batch) {
      int stores = 0;
      int removals = 0;
      int clears = 0;
      for (KvEvent event : batch.events()) {
        switch (event) {
          case KvEvent.Stored _ -> stores++;
          case KvEvent.Removed _ -> removals++;
          case KvEvent.Cleared _ -> clears++;
          case KvEvent.Gap _ -> gaps.inc();
          case KvEvent.GapClosed _ -> gapsClosed.inc();
          case KvEvent.GapAbandoned(long from, long to) -> {
            gapsAbandoned.inc();
            missed.inc(to - from + 1);
          }
          case KvEvent.Restarted _ -> restarts.inc();
          case KvEvent.Snapshot _, KvEvent.SnapshotFailed _, KvEvent.Connected _, KvEvent.Disconnected _ -> {}
        }
      }
      // One without a number is the engine's if an engine's events are in it, and else the stream's own.
      if (batch.sequence() != KvBatch.UNSEQUENCED || stores + removals + clears > 0) {
        messages.inc();
      }
      if (clears > 0) {
        cleared.inc(clears);
      }
      if (stores > 0) {
        stored.inc(stores);
      }
      if (removals > 0) {
        removed.inc(removals);
      }
    }

    void gapEndedByRestart() {
      gapsRestarted.inc();
    }

    void replay() {
      replays.inc();
    }

    void snapshotRead() {
      snapshotsRead.inc();
    }

    /** A snapshot could not be had; {@code known} when the engine may know the request. */
    void snapshotFailed(boolean known) {
      (known ? snapshotsFailed : snapshotsUnknown).inc();
    }

    void duplicate() {
      duplicates.inc();
    }

    void misframed() {
      misframed.inc();
    }

    void refused() {
      refused.inc();
    }

    void reconnected() {
      reconnects.inc();
    }

    void connections(int change) {
      connected.inc(change);
    }

    void behind(int change) {
      behind.inc(change);
    }

    void queued(int change) {
      queued.inc(change);
    }

    /** Observes the age of a message, in microseconds; negative when the clocks disagree. */
    void lag(long micros) {
      lag.observe(Math.max(0, micros) / 1e6);
    }
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
