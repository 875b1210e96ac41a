package io.kvasir.events;

import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.pekko.stream.javadsl.Source;

/**
 * Event streams of TensorRT-LLM servers, asked for with {@code POST /kv_cache_events}. An answer takes the events out
 * of the server, so each server has one poller, which serves all its ranks, and nobody else may ask. What the server
 * dropped since its buffer was full, or what was lost with an answer, shows in the event's numbers.
 *
 * <p>Thread-safe; whoever makes it closes it, which ends every stream.
 */
public final class TensorRtEvents implements SharedTransport {
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(2)).build();
  private final Map<URI, TensorRtPoller> pollers = new HashMap<>();
  private final EventMetrics.SourceMetrics metrics;
  private boolean closed;

  /** Asks nobody yet. */
  public TensorRtEvents(EventMetrics metrics) {
    this.metrics = metrics.of("tensorrt");
  }

  /**
   * The events of one of a server's ranks. Nothing is asked before the source is run.
   *
   * @param server its base URL
   * @param ranks how many ranks it has: it is first asked when all of them are listened to, or after a while
   * @param interval between an answer without events and the next question
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
        pollers.computeIfAbsent(server, url -> new TensorRtPoller(http, url, ranks, interval, metrics));
    Runnable leave = poller.subscribe(rank, queue);
    return () -> {
      synchronized (this) {
        leave.run();
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
