package io.kvasir.events;

import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** The source of one worker's events, whatever the transport. */
public interface EventSource {
  /**
   * The stream of the worker's batches, in order and without duplicates. Gaps, restarts and changes of the connection
   * are batches of their own between them.
   *
   * <p>Each materialisation is a subscription of its own, which begins with all events that the engine still keeps, or
   * with a {@link KvEvent.Snapshot} of what it holds: to resynchronise a worker, clear it and materialise again. The
   * stream lasts until it is cancelled or its transport is closed; lost connections are made again. It fails only when
   * the endpoint cannot be used at all. Slow demand slows the transport; messages that the engine drops therefore show
   * as a {@link KvEvent.Gap}.
   */
  Source<KvBatch, NotUsed> batches();

  /**
   * As {@link #batches}, but resumes after a position: only later messages are delivered. When the engine has restarted
   * since, or does not keep that message any more, the stream begins again after a {@link KvEvent.Restarted}.
   *
   * @return null when the transport can only begin with all events
   */
  default @Nullable Source<KvBatch, NotUsed> batchesAfter(StreamPosition last) {
    return null;
  }
}
