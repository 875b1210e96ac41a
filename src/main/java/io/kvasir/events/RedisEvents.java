package io.kvasir.events;

import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;

/**
 * Event streams kept as Redis streams (Redis 7 or later), one key a worker. An entry has a field {@code batch},
 * msgpack or JSON, and may have the engine's number in {@code seq}; without it an entry's place in the stream is
 * its number, so that entries trimmed before they were read show as a gap either way.
 *
 * <p>Each worker has a connection and a virtual thread that reads from it; a slow reader leaves entries where they
 * are. Thread-safe; whoever makes it closes it, which ends every stream.
 */
public final class RedisEvents implements AutoCloseable {
  private final Map<Runnable, Boolean> running = new ConcurrentHashMap<>();
  private final EventMetrics.OfSource metrics;

  /** Connects to nothing yet. */
  public RedisEvents(EventMetrics metrics) {
    this.metrics = metrics.of("redis");
  }

  /**
   * A worker's events. Nothing is connected before the source is run.
   *
   * @param url such as {@code redis://user:password@host:6379/0}, {@code rediss} for TLS
   * @param key the stream's
   */
  public EventSource source(URI url, String key) {
    return new EventSource() {
      @Override
      public Source<KvBatch, NotUsed> batches() {
        return Source.fromGraph(new BatchStage(queue -> subscribe(url, key, queue), metrics));
      }
    };
  }

  private Runnable subscribe(URI url, String key, BatchQueue queue) {
    Runnable stop =
        Puller.start(
            key + " at " + url.getHost() + ":" + RedisTransport.port(url),
            new RedisTransport(url, key),
            queue,
            metrics);
    running.put(stop, true);
    return () -> {
      running.remove(stop);
      stop.run();
    };
  }

  @Override
  public void close() {
    running.keySet().forEach(Runnable::run);
  }
}
