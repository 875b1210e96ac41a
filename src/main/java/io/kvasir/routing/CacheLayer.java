package io.kvasir.routing;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A cache beside the engines that knows which of them can load what (LMCache), as plugins see it: the room that
 * reaches it hands this in. Thread-safe.
 */
public interface CacheLayer {
  /** There is none. */
  CacheLayer NONE = new CacheLayer() {
    @Override
    public KeyCounts keys() {
      return KeyCounts.UNKNOWN;
    }

    @Override
    public CompletionStage<CacheMatches> find(RoutingContext context) {
      return CompletableFuture.completedStage(CacheMatches.UNKNOWN);
    }

    @Override
    public Duration timeout() {
      return Duration.ofMillis(50);
    }
  };

  /** How much it holds of each worker, as last heard. Never waits; whoever asks keeps it being heard of. */
  KeyCounts keys();

  /**
   * Asks where a prompt's beginning is held: {@link CacheMatches} as text, or {@link CacheMatches#UNKNOWN}. Looks at
   * the context, which has tokens, chain and facts, before it returns and not later.
   */
  CompletionStage<CacheMatches> find(RoutingContext context);

  /** How long a request waits for {@link #find}. */
  Duration timeout();

  /**
   * How much is held of each worker.
   *
   * @param byWorker keys, which are chunks of KV blocks, by the worker's id
   * @param freshUntil when it is too old, by the clock that decisions go by
   * @param version another one than all before
   */
  record KeyCounts(Map<String, Long> byWorker, long freshUntil, long version) {
    /** Nothing has been heard. */
    public static final KeyCounts UNKNOWN = new KeyCounts(Map.of(), 0, 0);

    /** Copies what it is given. */
    public KeyCounts {
      byWorker = Map.copyOf(byWorker);
    }

    /** Whether it can be believed. */
    public boolean isFresh(long nanos) {
      return !byWorker.isEmpty() && nanos - freshUntil < 0;
    }
  }
}
