package io.kvasir.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks one server for its events, on a virtual thread, and gives each rank its own. While a rank's queue is full
 * nobody is asked; what the server's buffer then cannot hold is missing in the numbers.
 */
final class TensorRtPoller implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(TensorRtPoller.class);
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final Duration ALL_RANKS = Duration.ofSeconds(5);
  private static final long MAX_PAUSE_MILLIS = 2000;

  private final HttpClient http;
  private final HttpRequest request;
  private final int ranks;
  private final Duration interval;
  private final EventMetrics.SourceMetrics metrics;
  private final Map<Integer, RankSubscription> subscriptions = new ConcurrentHashMap<>();
  /** Released when a queue has room again, or another rank is listened to. */
  private final Semaphore change = new Semaphore(0);
  private final Thread thread;
  private long time;
  private volatile boolean closed;

  private record RankSubscription(BatchQueue queue, Inbox inbox, TensorRtDecoder decoder) {}

  TensorRtPoller(HttpClient http, URI server, int ranks, Duration interval, EventMetrics.SourceMetrics metrics) {
    this.http = http;
    this.ranks = ranks;
    this.interval = interval;
    this.metrics = metrics;
    this.request =
        HttpRequest.newBuilder(server.resolve("/kv_cache_events"))
            .timeout(TIMEOUT)
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    this.thread = Thread.ofVirtual().name("kvasir-events-" + server).start(this);
  }

  /** Listens to a rank; the answer ends that. */
  Runnable subscribe(int number, BatchQueue queue) {
    RankSubscription rank = new RankSubscription(queue, new Inbox(queue, metrics), new TensorRtDecoder());
    queue.onSpace(change::release);
    subscriptions.put(number, rank);
    change.release();
    return () -> {
      if (subscriptions.remove(number, rank)) {
        rank.inbox().close();
        change.release();
      }
    };
  }

  boolean idle() {
    return subscriptions.isEmpty();
  }

  /** Ends every stream; does not wait for the answer that may be on its way. */
  void close() {
    closed = true;
    thread.interrupt();
  }

  @Override
  public void run() {
    try {
      long asked = System.nanoTime() + ALL_RANKS.toNanos();
      while (subscriptions.size() < ranks && asked - System.nanoTime() > 0) {
        boolean _ = change.tryAcquire(100, TimeUnit.MILLISECONDS);
      }
      long pause = interval.toMillis();
      while (!closed) {
        awaitRoom();
        try {
          if (poll() == 0) {
            Thread.sleep(interval);
          }
          pause = interval.toMillis();
        } catch (IOException e) {
          if (pause == interval.toMillis()) {
            LOG.warn("{}: no events, asked again until there are: {}", request.uri(), e.toString());
          }
          subscriptions.values().forEach(rank -> rank.inbox().disconnected());
          Thread.sleep(pause);
          pause = Math.min(MAX_PAUSE_MILLIS, 2 * pause);
        }
      }
    } catch (InterruptedException e) {
      // Closed.
    } finally {
      subscriptions
          .values()
          .forEach(
              rank -> {
                rank.inbox().close();
                rank.queue().end(null);
              });
    }
  }

  private void awaitRoom() throws InterruptedException {
    while (subscriptions.values().stream().anyMatch(rank -> rank.queue().full())) {
      change.acquire();
    }
  }

  /** How many events an answer had. */
  private int poll() throws IOException, InterruptedException {
    HttpResponse<byte[]> answer = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    if (answer.statusCode() != 200) {
      throw new IOException(
          "status " + answer.statusCode() + "; is kv_cache_config.event_buffer_max_size set, and block reuse on?");
    }
    JsonNode events = JSON.readTree(answer.body());
    // What was lost with an answer that did not arrive is seen by the next event.
    subscriptions.values().forEach(rank -> rank.inbox().connected(false));
    int size = answer.body().length / Math.max(1, events.size());
    for (JsonNode event : events) {
      RankSubscription rank = subscriptions.get(event.path("attention_dp_rank").asInt(0));
      if (rank != null) {
        // Later than any before: a number that comes again is another process's, for no answer repeats one.
        time = Math.max(time + 1, System.currentTimeMillis() * 1000);
        DecodedMessage decoded = rank.decoder().decode(event, time);
        metrics.read(decoded);
        rank.inbox().message(decoded, size);
        while (rank.queue().full()) {
          change.acquire();
        }
      }
    }
    return events.size();
  }
}
