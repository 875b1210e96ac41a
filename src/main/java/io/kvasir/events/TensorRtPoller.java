package io.kvasir.events;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.time.NanoClock;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The poller of one TensorRT-LLM server: requests its events on a virtual thread and distributes them to the ranks'
 * subscriptions. It pauses while any rank's queue is full; events that the server's buffer then drops show as gaps.
 */
final class TensorRtPoller {
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
  private final NanoClock clock;
  private final Map<Integer, RankSubscription> subscriptions = new ConcurrentHashMap<>();
  /** Released when a queue has room again, or a rank subscribes or unsubscribes. */
  private final Semaphore change = new Semaphore(0);
  private final ReaderThread reader;
  private long lastTime;
  private volatile boolean ended;

  private record RankSubscription(BatchQueue queue, Inbox inbox, TensorRtDecoder decoder) {}

  TensorRtPoller(
      HttpClient http,
      URI server,
      int ranks,
      Duration interval,
      EventMetrics.SourceMetrics metrics,
      NanoClock clock) {
    this.clock = clock;
    this.http = http;
    this.ranks = ranks;
    this.interval = interval;
    this.metrics = metrics;
    this.request =
        HttpRequest.newBuilder(server.resolve("/kv_cache_events"))
            .timeout(TIMEOUT)
            .POST(HttpRequest.BodyPublishers.noBody())
            .build();
    this.reader = new ReaderThread("kvasir-events-" + server, this::pollRepeatedly, this::endAll);
    reader.start();
  }

  /** Subscribes to a rank; returns a function that ends the subscription. */
  Runnable subscribe(int number, BatchQueue queue) {
    RankSubscription rank = new RankSubscription(queue, new Inbox(queue, metrics), new TensorRtDecoder());
    queue.onSpace(change::release);
    subscriptions.put(number, rank);
    change.release();
    // Looked at last: when it ended meanwhile it may not have found this one.
    if (ended) {
      queue.end(null);
    }
    return () -> {
      // Another one may have taken its place.
      boolean _ = subscriptions.remove(number, rank);
      rank.inbox().close();
      change.release();
    };
  }

  /** Whether it polls no more: a new one has to. */
  boolean ended() {
    return ended;
  }

  boolean idle() {
    return subscriptions.isEmpty();
  }

  /** Ends every stream; does not wait for a response under way. */
  void close() {
    reader.stop();
  }

  private void pollRepeatedly() throws InterruptedException {
    long deadline = clock.nanos() + ALL_RANKS.toNanos();
    while (subscriptions.size() < ranks && deadline - clock.nanos() > 0) {
      boolean _ = change.tryAcquire(100, TimeUnit.MILLISECONDS);
    }
    long pause = interval.toMillis();
    while (!reader.stopped()) {
      awaitRoom();
      try {
        if (poll() == 0) {
          Thread.sleep(interval);
        }
        pause = interval.toMillis();
      } catch (IOException | RuntimeException e) {
        if (reader.stopped()) {
          break;
        }
        if (pause == interval.toMillis()) {
          LOG.warn("{}: no response with events, retrying: {}", request.uri(), e.toString());
        }
        subscriptions.values().forEach(rank -> rank.inbox().disconnected());
        Thread.sleep(pause);
        pause = Math.min(MAX_PAUSE_MILLIS, 2 * pause);
      }
    }
  }

  private void endAll(@Nullable Throwable failure) {
    ended = true;
    for (RankSubscription rank : subscriptions.values()) {
      try {
        rank.inbox().close();
      } finally {
        rank.queue().end(failure);
      }
    }
  }

  private void awaitRoom() throws InterruptedException {
    while (subscriptions.values().stream().anyMatch(rank -> rank.queue().full())) {
      change.acquire();
    }
  }

  /** Requests events once; returns how many the response had. */
  private int poll() throws IOException, InterruptedException {
    HttpResponse<byte[]> response = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    if (response.statusCode() != 200) {
      throw new IOException(
          "status " + response.statusCode() + "; is kv_cache_config.event_buffer_max_size set, and block reuse on?");
    }
    JsonNode events = JSON.readTree(response.body());
    // Events lost with a response that did not arrive show as a gap before the next event.
    subscriptions.values().forEach(rank -> rank.inbox().connected(false));
    int size = response.body().length / Math.max(1, events.size());
    for (JsonNode event : events) {
      RankSubscription rank = subscriptions.get(event.path("attention_dp_rank").asInt(0));
      if (rank != null) {
        // Later than any before: no response repeats an event, so a repeated number is from another process.
        lastTime = Math.max(lastTime + 1, System.currentTimeMillis() * 1000);
        DecodedMessage decoded = rank.decoder().decode(event, lastTime);
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
