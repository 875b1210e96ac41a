package io.kvasir.app.node;

import io.kvasir.cell.EngineReport;
import io.kvasir.engines.LoadFeed;
import io.kvasir.events.LoadListener;
import io.kvasir.events.LoadMessage;
import io.kvasir.routing.Candidates;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The newest load that each rank of an engine has pushed. Thread-safe; closing it ends the subscriptions. */
final class PushedLoad implements AutoCloseable {
  /** An engine whose load does not change sends it each second: three of them in a row are missing. */
  static final Duration SILENCE = Duration.ofSeconds(3);

  private final LoadFeed feed;
  private final NanoClock clock;
  private final AtomicReferenceArray<Reading> newest;
  private final List<Runnable> subscriptions = new ArrayList<>();

  private record Reading(EngineReport report, long nanos) {}

  /** Subscribes to all ranks of a feed. */
  PushedLoad(LoadFeed feed, EventStreams streams, NanoClock clock, Runnable onMalformed) {
    this.feed = feed;
    this.clock = clock;
    this.newest = new AtomicReferenceArray<>(feed.endpoints().size());
    for (int i = 0; i < feed.endpoints().size(); i++) {
      int rank = i;
      subscriptions.add(
          streams.followLoad(
              feed.endpoints().get(rank),
              feed.topic(),
              new LoadListener() {
                @Override
                public void loaded(LoadMessage load) {
                  newest.set(rank, new Reading(report(load), clock.nanos()));
                }

                @Override
                public void malformed() {
                  onMalformed.run();
                }
              }));
    }
  }

  LoadFeed feed() {
    return feed;
  }

  /** The load by rank; empty unless it is known of every rank, since half of an engine's load is not its load. */
  Map<Integer, EngineReport> reports() {
    long now = clock.nanos();
    Map<Integer, EngineReport> reports = new HashMap<>();
    for (int rank = 0; rank < newest.length(); rank++) {
      Reading reading = newest.get(rank);
      if (reading == null || now - reading.nanos >= SILENCE.toNanos()) {
        return Map.of();
      }
      reports.put(rank, reading.report);
    }
    return reports;
  }

  private static EngineReport report(LoadMessage load) {
    return new EngineReport(
        load.running(),
        load.waiting(),
        load.maxTokens() == 0 ? Candidates.UNKNOWN : Math.min(1, load.tokens() / (double) load.maxTokens()));
  }

  @Override
  public void close() {
    subscriptions.forEach(Runnable::run);
  }
}
