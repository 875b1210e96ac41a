package io.kvasir.events;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.pekko.stream.javadsl.Source;

/** Sources of which every run is read by a puller of its own, and all of which end together. Thread-safe. */
final class Pullers {
  private final Set<Runnable> running = ConcurrentHashMap.newKeySet();
  private final EventMetrics.SourceMetrics metrics;

  Pullers(EventMetrics.SourceMetrics metrics) {
    this.metrics = metrics;
  }

  /**
   * A worker's events.
   *
   * @param what is read, for the log
   * @param transport makes a run's way to them, when it begins
   */
  EventSource source(String what, Supplier<Puller.Transport> transport) {
    return () -> Source.fromGraph(new BatchStage(queue -> start(what, transport.get(), queue), metrics));
  }

  private Runnable start(String what, Puller.Transport transport, BatchQueue queue) {
    Runnable stop = Puller.start(what, transport, queue, metrics);
    running.add(stop);
    return () -> {
      running.remove(stop);
      stop.run();
    };
  }

  /** Ends every run. */
  void end() {
    running.forEach(Runnable::run);
  }
}
