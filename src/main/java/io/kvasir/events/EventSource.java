package io.kvasir.events;

import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** Where one worker's events come from, whatever the transport. */
public interface EventSource {
  /**
   * The worker's batches, in order and without duplicates, with what the stream noticed about itself
   * (gaps, restarts, the connection) as batches of their own between them.
   *
   * <p>Each materialisation is a subscription of its own that begins with all the engine still remembers:
   * to resynchronise a worker, clear it and materialise again. Cancelling gives everything back. The
   * stream lasts until its transport is closed, lost connections are made again; it fails only when
   * the endpoint cannot be used at all. Slow demand slows the transport; what that makes the engine drop
   * comes out as a {@link KvEvent.Gap}.
   */
  Source<KvBatch, NotUsed> batches();

  /**
   * As {@link #batches}, but goes on after what has been applied elsewhere: only what came later is told. An engine
   * that turns out to have begun anew since, or to have forgotten that message, is told from the beginning after a
   * {@link KvEvent.Restarted}.
   *
   * @return null when the transport can only begin with everything
   */
  default @Nullable Source<KvBatch, NotUsed> batchesAfter(StreamPosition last) {
    return null;
  }
}
