package io.kvasir.lmcache;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The state of LMCache as operators see it.
 *
 * @param service address of the controller, or of the coordinator in its place, where prompts are looked up
 * @param serviceName which of them it is
 * @param age time since the last successful poll; empty before there was one
 * @param failure why the latest poll failed; empty when it did not
 * @param instances that it lists
 * @param problems mismatches with the configuration, each a sentence with its remedy
 * @param coordinator beside a controller, and wherever it prefetches
 */
public record LmCacheView(
    String service,
    String serviceName,
    Optional<Duration> age,
    Optional<String> failure,
    List<InstanceView> instances,
    List<String> problems,
    Optional<CoordinatorView> coordinator) {
  /**
   * The state of the coordinator.
   *
   * @param address its address
   * @param age time since the last successful poll; empty before there was one
   * @param failure why the latest poll failed; empty when it did not
   * @param instances ids of those that it lists
   */
  public record CoordinatorView(
      String address, Optional<Duration> age, Optional<String> failure, List<String> instances) {}

  /**
   * The state of one engine's LMCache.
   *
   * @param id its id at the controller
   * @param worker the worker it belongs to, empty when the fleet has none
   * @param keys chunks that it holds
   * @param ranks how many ranks of the engine are registered
   * @param staleRanks how many of those send no heartbeats any more and do not count
   * @param heartbeat time since the latest one; empty when it sends none
   */
  public record InstanceView(
      String id, Optional<String> worker, long keys, int ranks, int staleRanks, Optional<Duration> heartbeat) {}
}
