package io.kvasir.scale;

import io.kvasir.routing.Role;
import java.time.Duration;
import java.util.Locale;

/**
 * How many workers a demand needs, as a fraction, and what it is that needs so many. Each figure of a demand adds in
 * proportion, so twice the demand needs twice the workers.
 *
 * @param workers at least 0
 * @param limit what needs the most of them
 */
record Need(double workers, Limit limit) {
  /** The share of a worker's cache, and of its requests in flight, that is planned for. */
  private static final double FILL = 0.9;

  /** The share of the time per token that a step without any context may take before goals are beyond the engine. */
  private static final double SLOWEST_STEP = 0.8;

  /** What a number of workers runs out of first. */
  enum Limit {
    /** Time to read prompts as they come. */
    PREFILL,
    /** Time to read what has piled up. */
    BACKLOG,
    /** The pace of tokens. */
    PACE,
    /** Room for KV blocks. */
    MEMORY,
    /** Requests in flight. */
    SLOTS;

    String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** What a demand on workers of a role needs. */
  static Need of(FleetDemand demand, Role role, WorkerCapacity capacity, ScaleGoals goals) {
    Need need = new Need(demand.inFlight() / (FILL * capacity.maxInFlight()), Limit.SLOTS);
    if (role.takes(Role.PREFILL)) {
      need = need.or(demand.prefillPerSecond() / goals.prefillShare(), Limit.PREFILL);
      need = need.or(backlog(demand, goals), Limit.BACKLOG);
    }
    if (role.takes(Role.DECODE)) {
      need = need.or(pace(demand, role, capacity, goals), Limit.PACE);
      need = need.or(demand.memoryUse() / FILL, Limit.MEMORY);
    }
    return need;
  }

  private Need or(double other, Limit why) {
    return other > workers ? new Need(other, why) : this;
  }

  /** What arrives, and besides what waits for longer than it should, by the time that another worker could serve. */
  private static double backlog(FleetDemand demand, ScaleGoals goals) {
    double late = demand.owedSeconds() - demand.ready() * seconds(goals.firstToken());
    return late <= 0 ? 0 : demand.prefillPerSecond() + late / Math.max(1, seconds(goals.startup()));
  }

  /**
   * Where n workers share the answers, a step takes what it takes without any, and what 1/n of them add; prompts take
   * their share of the time besides. Solved for n at the time per token that is to be kept.
   */
  static double pace(FleetDemand demand, Role role, WorkerCapacity capacity, ScaleGoals goals) {
    double perTokenMs = seconds(goals.perToken()) * 1e3;
    double stepMs = Math.min(capacity.decode().stepMs(), SLOWEST_STEP * perTokenMs);
    double addedMs =
        demand.inFlight() * capacity.decode().msPerSequence()
            + demand.contextTokens() * capacity.decode().msPerContextToken();
    double prompts = role.takes(Role.PREFILL) ? demand.prefillPerSecond() * perTokenMs : 0;
    return (addedMs + prompts) / (perTokenMs - stepMs);
  }

  private static double seconds(Duration time) {
    return time.toNanos() / 1e9;
  }
}
