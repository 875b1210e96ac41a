package io.kvasir.lmcache;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What is known of LMCache, for operators.
 *
 * @param controller its address
 * @param age how long ago it last said what it holds; empty before it has
 * @param failure why the last question failed; empty when it did not
 * @param instances those that it knows
 * @param problems what does not fit, each in a sentence that says what to do
 * @param coordinator what is known of the coordinator; empty when none is configured
 */
public record LmCacheView(
    String controller,
    Optional<Duration> age,
    Optional<String> failure,
    List<InstanceView> instances,
    List<String> problems,
    Optional<CoordinatorView> coordinator) {
  /**
   * The coordinator.
   *
   * @param address where it is
   * @param age how long ago it last said whom it knows; empty before it has
   * @param failure why the last question failed; empty when it did not
   * @param instances ids of those that it knows
   */
  public record CoordinatorView(
      String address, Optional<Duration> age, Optional<String> failure, List<String> instances) {}

  /**
   * One engine's.
   *
   * @param id its id at the controller
   * @param worker the worker it belongs to, empty when the fleet has none
   * @param keys chunks that it holds
   * @param ranks how many ranks of the engine report
   * @param staleRanks how many of those have stopped beating and do not count
   * @param heartbeat how long ago the last one came; empty when it sends none
   */
  public record InstanceView(
      String id, Optional<String> worker, long keys, int ranks, int staleRanks, Optional<Duration> heartbeat) {}
}
