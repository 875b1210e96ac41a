package io.kvasir.cell;

import io.kvasir.events.KvBatch;
import io.kvasir.routing.Worker;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;

/** Opens the event stream of a worker whose pod has one. */
@FunctionalInterface
public interface EventSources {
  /**
   * The worker's events, from the beginning as far as the engine still has it. The stream reconnects by
   * itself and ends when it is cancelled.
   */
  Source<KvBatch, NotUsed> open(Worker worker, PodSpec pod);
}
