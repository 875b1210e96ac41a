package io.kvasir.load;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * Ordinary clients beside the hostile ones: chats at a fixed rate, each begun when it is due however long the others
 * take, so that what waits is counted with its wait.
 */
final class HostileTraffic implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final long LONGEST_MICROS = TIMEOUT.toNanos() / 1_000;

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final AtomicReference<Phase> phase = new AtomicReference<>(new Phase());
  /** Threads of their own: the hostile clients' virtual ones may take all carriers. */
  private final ExecutorService threads =
      Executors.newCachedThreadPool(Thread.ofPlatform().daemon().name("ordinary-", 0).factory());

  private final AtomicBoolean running = new AtomicBoolean(true);
  private final URI gateway;

  /**
   * Starts.
   *
   * @param perSecond requests a second
   */
  HostileTraffic(URI gateway, int perSecond) {
    this.gateway = gateway;
    Thread.ofPlatform().daemon().name("ordinary").start(() -> begin(TimeUnit.SECONDS.toNanos(1) / perSecond));
  }

  /** What was counted between two moments. */
  private static final class Phase {
    private final Histogram micros = new ConcurrentHistogram(LONGEST_MICROS, 3);
    private final AtomicInteger errors = new AtomicInteger();
    private final Set<Long> open = ConcurrentHashMap.newKeySet();
  }

  /**
   * A phase's figures.
   *
   * @param errors requests without a 200
   */
  record Figures(long requests, double p50Millis, double p99Millis, int errors) {}

  /** Ends a phase and begins the next. Requests that are still open count with their time so far, at least. */
  Figures next() {
    Phase ended = phase.getAndSet(new Phase());
    ended.open.forEach(due -> ended.micros.recordValue(micros(due)));
    return new Figures(
        ended.micros.getTotalCount(),
        ended.micros.getValueAtPercentile(50) / 1_000.0,
        ended.micros.getValueAtPercentile(99) / 1_000.0,
        ended.errors.get());
  }

  @Override
  public void close() {
    running.set(false);
    http.shutdownNow();
    threads.shutdownNow();
  }

  private void begin(long interval) {
    long due = System.nanoTime();
    for (int number = 0; running.get(); number++) {
      long at = due;
      int of = number;
      Phase counted = Objects.requireNonNull(phase.get());
      threads.execute(() -> chat(of, at, counted));
      due += interval;
      LockSupport.parkNanos(due - System.nanoTime());
    }
  }

  private void chat(int number, long due, Phase counted) {
    String body =
        "{\"model\":\"kvasir-demo\",\"max_tokens\":8,\"messages\":[{\"role\":\"user\",\"content\":\"%s %d\"}]}"
            .formatted("An ordinary question of some length. ".repeat(20), number % 50);
    HttpRequest request =
        HttpRequest.newBuilder(gateway.resolve("/v1/chat/completions"))
            .timeout(TIMEOUT)
            .POST(BodyPublishers.ofString(body))
            .build();
    counted.open.add(due);
    try {
      int status = http.send(request, BodyHandlers.discarding()).statusCode();
      if (status != 200) {
        counted.errors.incrementAndGet();
      }
    } catch (IOException failed) {
      if (running.get()) {
        counted.errors.incrementAndGet();
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } finally {
      counted.open.remove(due);
      counted.micros.recordValue(micros(due));
    }
  }

  private static long micros(long since) {
    return Math.min(LONGEST_MICROS, (System.nanoTime() - since) / 1_000);
  }
}
