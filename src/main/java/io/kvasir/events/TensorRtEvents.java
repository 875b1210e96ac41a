package io.kvasir.events;

import io.kvasir.time.NanoClock;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.pekko.stream.javadsl.Source;

/**
 * Event streams of TensorRT-LLM servers, polled with {@code POST /kv_cache_events}. A response removes its events from
 * the server, so each server has one poller, which serves all its ranks, and must have no other reader. Events that the
 * server dropped because its buffer was full, or that were lost with a response, show as gaps in the events' numbers.
 *
 * <p>Thread-safe; closing it ends every stream.
 */
public final class TensorRtEvents implements SharedTransport {
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(2)).build();
  private final Map<URI, TensorRtPoller> pollers = new HashMap<>();
  private final EventMetrics.SourceMetrics metrics;
  private final NanoClock clock;
  private boolean closed;

  /** A transport that polls no server yet. */
  public TensorRtEvents(EventMetrics metrics, NanoClock clock) {
    this.clock = clock;
    this.metrics = metrics.of("tensorrt");
  }

  /**
   * The source of one of a server's ranks. Nothing is sent before the source is run.
   *
   * @param server its base URL
   * @param ranks how many ranks it has: polling begins when all of them have subscribed, or after some seconds
   * @param interval pause after a response without events
   */
  public EventSource source(URI server, int rank, int ranks, Duration interval) {
    return () ->
        Source.fromGraph(new BatchStage(queue -> subscribe(server, rank, ranks, interval, queue), metrics));
  }

  private synchronized Runnable subscribe(URI server, int rank, int ranks, Duration interval, BatchQueue queue) {
    if (closed) {
      queue.end(null);
      return () -> {};
    }
    TensorRtPoller poller =
        pollers.compute(
            server,
            (url, before) ->
                before == null || before.ended()
                    ? new TensorRtPoller(http, url, ranks, interval, metrics, clock)
                    : before);
    Runnable unsubscribe = poller.subscribe(rank, queue);
    return () -> {
      synchronized (this) {
        unsubscribe.run();
        if (poller.idle()) {
          poller.close();
          pollers.remove(server, poller);
        }
      }
    };
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      pollers.values().forEach(TensorRtPoller::close);
      pollers.clear();
    }
    http.shutdownNow();
  }
}
