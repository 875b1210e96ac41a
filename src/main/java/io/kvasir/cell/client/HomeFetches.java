package io.kvasir.cell.client;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Results that this node's requests wait for and that a cell's home on another node has or will have. While there are
 * any to come, one thread fetches them for all. A message that is lost is followed by the next; a home that is silent
 * leaves nobody waiting. Thread-safe.
 */
final class HomeFetches<R> {
  /** Between two fetches. */
  static final Duration LONGEST_INTERVAL = Duration.ofMillis(15);

  private final String name;
  private final long firstIntervalMillis;
  private final Source<R> source;
  private final long silenceNanos;
  private final NanoClock clock;
  private final Map<Long, CompletableFuture<R>> awaited = new ConcurrentHashMap<>();
  private final AtomicBoolean running = new AtomicBoolean();
  private final AtomicBoolean begun = new AtomicBoolean();

  /** Where results come from. */
  interface Source<R> {
    /**
     * Fetches the results that there are; fails when the home does not answer in time.
     *
     * @param ids those that are awaited
     */
    CompletableFuture<Map<Long, R>> fetch(List<Long> ids);

    /** The result of those that are awaited while the home is silent. */
    R ofSilence();

    /** A result was fetched that nobody awaits any more. */
    default void untaken(long id, R result) {}
  }

  /**
   * Nothing is awaited yet.
   *
   * @param name of the thread
   * @param firstInterval between two fetches after a request has begun to wait; each after that takes twice as long as
   *     the one before it, {@link #LONGEST_INTERVAL} at most
   * @param silence of the home after which nothing is awaited any more
   */
  HomeFetches(String name, Duration firstInterval, Source<R> source, Duration silence, NanoClock clock) {
    this.name = name;
    this.firstIntervalMillis = firstInterval.toMillis();
    this.source = source;
    this.silenceNanos = silence.toNanos();
    this.clock = clock;
  }

  /** Begins to fetch a result, until it is there or {@linkplain #forget forgotten}. */
  CompletableFuture<R> begin(long id) {
    CompletableFuture<R> result = new CompletableFuture<>();
    awaited.put(id, result);
    begun.set(true);
    if (running.compareAndSet(false, true)) {
      Thread.ofVirtual().name(name).start(this::run);
    }
    return result;
  }

  /** Fetches a result no more. */
  void forget(long id) {
    awaited.remove(id);
  }

  private void run() {
    long answeredNanos = clock.nanos();
    long interval = firstIntervalMillis;
    try {
      do {
        while (!awaited.isEmpty()) {
          interval = begun.getAndSet(false) ? firstIntervalMillis : Math.min(2 * interval, LONGEST_INTERVAL.toMillis());
          if (fetch()) {
            answeredNanos = clock.nanos();
          } else if (clock.nanos() - answeredNanos >= silenceNanos) {
            awaited.values().forEach(result -> result.complete(source.ofSilence()));
          }
          TimeUnit.MILLISECONDS.sleep(interval);
        }
        running.set(false);
        // Whoever began to wait in between has found this thread running.
      } while (!awaited.isEmpty() && running.compareAndSet(false, true));
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (Error failed) {
      // The next that waits starts another thread.
      running.set(false);
      throw failed;
    }
  }

  /** Whether the home has answered. */
  private boolean fetch() {
    try {
      source.fetch(List.copyOf(awaited.keySet())).join().forEach((id, result) -> {
        CompletableFuture<R> waiting = awaited.get(id);
        if (waiting == null || !waiting.complete(result)) {
          source.untaken(id, result);
        }
      });
      return true;
    } catch (RuntimeException silent) {
      // Also one that cannot be asked, or answers what is not understood: the thread goes on for those who wait.
      return false;
    }
  }
}
