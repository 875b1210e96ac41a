package io.kvasir.events;

import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** Events of a transport that can also go on after what has been applied elsewhere. */
record ResumableSource(StreamOpener subscribe, EventMetrics.SourceMetrics metrics) implements EventSource {
  /** How a run begins. */
  interface StreamOpener {
    /**
     * Begins to fill a queue.
     *
     * @param last what has been applied, null for nothing: then it begins with everything
     * @return ends it
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
    return Source.fromGraph(new BatchStage(queue -> subscribe.open(queue, last), metrics));
  }
}
