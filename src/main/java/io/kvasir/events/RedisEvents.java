package io.kvasir.events;

import java.net.URI;

/**
 * Event streams kept as Redis streams (Redis 7 or later), one key a worker. An entry has a field {@code batch},
 * msgpack or JSON, and may have the engine's number in {@code seq}; without it an entry's place in the stream is
 * its number, so that entries trimmed before they were read show as a gap either way.
 *
 * <p>Each worker has a connection and a virtual thread that reads from it; a slow reader leaves entries where they
 * are. Thread-safe; whoever makes it closes it, which ends every stream.
 */
public final class RedisEvents implements AutoCloseable {
  private final Pullers pullers;

  /** Connects to nothing yet. */
  public RedisEvents(EventMetrics metrics) {
    this.pullers = new Pullers(metrics.of("redis"));
  }

  /**
   * A worker's events. Nothing is connected before the source is run.
   *
   * @param url such as {@code redis://user:password@host:6379/0}, {@code rediss} for TLS
   * @param key the stream's
   */
  public EventSource source(URI url, String key) {
    return pullers.source(
        key + " at " + url.getHost() + ":" + RedisTransport.port(url), () -> new RedisTransport(url, key));
  }

  @Override
  public void close() {
    pullers.end();
  }
}
