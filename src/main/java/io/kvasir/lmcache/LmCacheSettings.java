package io.kvasir.lmcache;

import java.net.URI;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How LMCache's controller is asked.
 *
 * @param controller its address, without a path
 * @param pollInterval how often it is asked for its workers, on average
 * @param staleAfter an instance that has stopped beating, and figures that could not be renewed, count no longer than
 *     this
 * @param timeout how long a request waits for a lookup; also how long the controller gets for one
 * @param chunkTokens tokens in one of its chunks
 * @param maxLookups lookups under way at once, and prefetches; requests beyond go without
 * @param remember how long the answer to a lookup is good for other requests
 * @param workers worker by instance id, where the instance is not called like the worker
 * @param prefetch how its coordinator is asked to fetch, null without one
 */
public record LmCacheSettings(
    URI controller,
    Duration pollInterval,
    Duration staleAfter,
    Duration timeout,
    int chunkTokens,
    int maxLookups,
    Duration remember,
    Map<String, String> workers,
    @Nullable PrefetchSettings prefetch) {
  /** Copies what it is given. */
  public LmCacheSettings {
    workers = Map.copyOf(workers);
  }
}
