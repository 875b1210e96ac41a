package io.kvasir.events;

import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** A source whose transport can resume after a position. */
record ResumableSource(StreamOpener opener, EventMetrics.SourceMetrics metrics) implements EventSource {
  /** The function that begins a subscription. */
  interface StreamOpener {
    /**
     * Begins to fill a queue.
     *
     * @param last the position to resume after; null to begin with all events
     * @return a function that ends the subscription
     */
    Runnable open(BatchQueue queue, @Nullable StreamPosition last);
  }

  @Override
  public Source<KvBatch, NotUsed> batches() {
    return from(null);
  }

  @Override
  public Source<KvBatch, NotUsed> batchesAfter(StreamPosition last) {
    return from(last);
  }

  private Source<KvBatch, NotUsed> from(@Nullable StreamPosition last) {
    return Source.fromGraph(new BatchStage(queue -> opener.open(queue, last), metrics));
  }
}
