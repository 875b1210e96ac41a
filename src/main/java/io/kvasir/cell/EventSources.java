package io.kvasir.cell;

import io.kvasir.events.KvBatch;
import io.kvasir.events.StreamPosition;
import io.kvasir.routing.Worker;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** Opens the event stream of a worker whose pod has one. */
@FunctionalInterface
public interface EventSources {
  /**
   * The worker's events, from the beginning as far as the engine still has it. The stream reconnects by
   * itself and ends when it is cancelled.
   */
  Source<KvBatch, NotUsed> open(Worker worker, PodSpec pod);

  /**
   * The worker's events after those that have been applied elsewhere.
   *
   * @return null when its transport can only begin with everything
   */
  default @Nullable Source<KvBatch, NotUsed> resume(Worker worker, PodSpec pod, StreamPosition last) {
    return null;
  }
}
