package io.kvasir.routing;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A KV cache layer beside the engines (LMCache), as plugins see it: which worker can load how much of a prompt.
 * Thread-safe.
 */
public interface CacheLayer {
  /** The cache layer of a fleet without one. */
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

  /** The latest key counts by worker. Never waits; counts are refreshed for as long as they are read. */
  KeyCounts keys();

  /**
   * Looks up the prefixes of a prompt that workers can load, {@link CacheMatches#UNKNOWN} when there is no answer.
   * Reads the context, which has tokens, chain and facts, before it returns and not later.
   */
  CompletionStage<CacheMatches> find(RoutingContext context);

  /**
   * A decision has used a result of {@link #find}, and compared it with what the layer's own events say.
   *
   * @param reportedTokens leading tokens of the prompt that events say the chosen worker holds, 0 when they say nothing
   * @param foundTokens leading tokens that the result has, of any worker
   */
  default void compared(int reportedTokens, int foundTokens) {}

  /** The longest wait of a request for {@link #find}. */
  Duration timeout();

  /**
   * The number of keys that the layer holds for each worker.
   *
   * @param byWorker keys, which are chunks of KV blocks, by worker id
   * @param freshUntil end of the counts' validity, in nanoseconds of the clock that decisions use
   * @param version unique to these counts
   */
  record KeyCounts(Map<String, Long> byWorker, long freshUntil, long version) {
    /** The counts before the layer has answered. */
    public static final KeyCounts UNKNOWN = new KeyCounts(Map.of(), 0, 0);

    /** Copies the map. */
    public KeyCounts {
      byWorker = Map.copyOf(byWorker);
    }

    /** Whether there are counts and they are valid at {@code nanos}. */
    public boolean isFresh(long nanos) {
      return !byWorker.isEmpty() && nanos - freshUntil < 0;
    }
  }
}
