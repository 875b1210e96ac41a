package io.kvasir.lmcache;

import java.net.URI;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The connection to LMCache's controller, or to the coordinator of its multi-process mode, or to both.
 *
 * @param service address of the one where prompts are looked up, without a path
 * @param directory how to look them up at a coordinator, null at a controller
 * @param polls of its instances
 * @param lookups of requests' prompts
 * @param workers worker by instance id, where the instance's name is not the worker's
 * @param prefetch by the coordinator, null without one
 */
public record LmCacheSettings(
    URI service,
    @Nullable KeyDirectorySettings directory,
    PollSettings polls,
    LookupSettings lookups,
    Map<String, String> workers,
    @Nullable PrefetchSettings prefetch) {
  /**
   * The polls of the controller, and of the coordinator.
   *
   * @param interval mean time between two polls
   * @param staleAfter age from which an instance without heartbeats, and key counts that could not be renewed, no
   *     longer count
   */
  public record PollSettings(Duration interval, Duration staleAfter) {}

  /**
   * The lookups of prompts.
   *
   * @param timeout how long a request waits for a lookup; also the deadline of the call
   * @param chunkTokens tokens in one of LMCache's chunks
   * @param maxConcurrent maximum of concurrent lookups, and of concurrent prefetches; requests beyond do without
   * @param remember how long a lookup's result is used for other requests
   * @param peers whether every instance can load what another one holds in host memory
   */
  public record LookupSettings(
      Duration timeout, int chunkTokens, int maxConcurrent, Duration remember, boolean peers) {}

  /** Copies the map. */
  public LmCacheSettings {
    workers = Map.copyOf(workers);
  }

  /** What is at the address: "controller" or "coordinator". */
  String serviceName() {
    return directory == null ? "controller" : "coordinator";
  }
}
