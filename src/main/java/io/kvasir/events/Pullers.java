package io.kvasir.events;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.pekko.stream.javadsl.Source;

/** The running pullers of one kind of source, which end together. Thread-safe. */
final class Pullers {
  private final Set<Runnable> running = ConcurrentHashMap.newKeySet();
  private final EventMetrics.SourceMetrics metrics;
  private volatile boolean ended;

  Pullers(EventMetrics.SourceMetrics metrics) {
    this.metrics = metrics;
  }

  /**
   * A source each of whose subscriptions is read by a puller of its own.
   *
   * @param description what is read, for the log
   * @param transport makes a subscription's transport, when it begins
   */
  EventSource source(String description, Supplier<Puller.Transport> transport) {
    return () -> Source.fromGraph(new BatchStage(queue -> start(description, transport, queue), metrics));
  }

  private Runnable start(String description, Supplier<Puller.Transport> transport, BatchQueue queue) {
    if (ended) {
      queue.end(null);
      return () -> {};
    }
    Runnable stop = Puller.start(description, transport.get(), queue, metrics);
    running.add(stop);
    // Looked at again: one that ended them meanwhile may not have found this one.
    if (ended) {
      stop.run();
    }
    return () -> {
      running.remove(stop);
      stop.run();
    };
  }

  /** Ends every subscription, and those that begin later. */
  void end() {
    ended = true;
    running.forEach(Runnable::run);
  }
}
