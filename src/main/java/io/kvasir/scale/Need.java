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

  /** So many standard deviations above its mean is what one in twenty exceeds. */
  private static final double ONE_IN_TWENTY = 1.645;

  /** The least share of their time that workers are taken to have left for answers. */
  private static final double LEAST_LEFT = 0.05;

  private static final double MOST = 1e6;
  private static final int HALVINGS = 50;

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
    Need need = new Need(demand.requests() / (FILL * capacity.maxInFlight()), Limit.SLOTS);
    if (role.takes(Role.PREFILL)) {
      need = need.or(demand.arrivingPerSecond() / goals.prefillShare(), Limit.PREFILL);
      need = need.or(backlog(demand, goals), Limit.BACKLOG);
    }
    if (role.takes(Role.DECODE)) {
      need = need.or(pace(demand, role, capacity, goals), Limit.PACE);
      need = need.or((demand.memoryUse() + demand.backlog().memoryLoad()) / FILL, Limit.MEMORY);
    }
    return need;
  }

  private Need or(double other, Limit why) {
    return other > workers ? new Need(other, why) : this;
  }

  /** What arrives, and besides what waits for longer than it should, by the time that another worker could serve. */
  private static double backlog(FleetDemand demand, ScaleGoals goals) {
    double owed = demand.owedSeconds() + demand.backlog().owedSeconds();
    double late = owed - demand.ready() * seconds(goals.firstToken());
    return late <= 0 ? 0 : demand.arrivingPerSecond() + late / Math.max(1, seconds(goals.startup()));
  }

  /** The fewest workers at which 95 % of answers come at the time per token that is to be kept. */
  static double pace(FleetDemand demand, Role role, WorkerCapacity capacity, ScaleGoals goals) {
    Pace pace = Pace.of(demand, role, capacity, goals);
    double enough = 1;
    while (pace.tokenMs(enough) > pace.goalMs && enough < MOST) {
      enough *= 2;
    }
    double tooFew = 0;
    for (int i = 0; i < HALVINGS; i++) {
      double between = (tooFew + enough) / 2;
      if (pace.tokenMs(between) > pace.goalMs) {
        tooFew = between;
      } else {
        enough = between;
      }
    }
    return enough;
  }

  /**
   * What the time per token depends on. Prompts and tokens take the same time of workers, however many share it: fewer
   * workers have more answers at once, which does not mean that there is more to do.
   *
   * @param goalMs ms per token that are to be kept
   * @param stepMs ms of a step without what its answers add
   * @param prompts how many workers prompts keep busy
   * @param answers how many workers what answers add to steps keeps busy
   * @param promptMs ms of a prompt
   * @param tokens tokens of an answer
   */
  private record Pace(double goalMs, double stepMs, double prompts, double answers, double promptMs, double tokens) {
    static Pace of(FleetDemand demand, Role role, WorkerCapacity capacity, ScaleGoals goals) {
      double goalMs = seconds(goals.perToken()) * 1e3;
      double stepMs = Math.min(capacity.decode().stepMs(), SLOWEST_STEP * goalMs);
      double prompts = role.takes(Role.PREFILL) ? demand.arrivingPerSecond() : 0;
      double addedMs =
          demand.requests() * capacity.decode().msPerSequence()
              + (demand.contextTokens() + demand.backlog().promptTokens()) * capacity.decode().msPerContextToken();
      int ready = Math.max(1, demand.ready());
      double left = Math.max(LEAST_LEFT, 1 - prompts / ready);
      double answers = left * addedMs / (stepMs + addedMs / ready);
      return new Pace(
          goalMs, stepMs, prompts, answers, demand.secondsPerPrompt() * 1e3, Math.max(1, demand.tokensPerAnswer()));
    }

    /**
     * The time per token that an answer in twenty exceeds where so many workers share the work. Prompts that come at
     * random hold answers up: x ms of steps take x/(1 − ρ) on average at a share ρ of other work, with the variance
     * ρ·s·x/(1 − ρ)³ of a queue's busy period for prompts of s ms each.
     */
    double tokenMs(double workers) {
      double left = 1 - (prompts + answers) / workers;
      if (left <= 0) {
        return Double.POSITIVE_INFINITY;
      }
      double variance = prompts / workers * promptMs * stepMs / (tokens * left * left * left);
      return stepMs / left + ONE_IN_TWENTY * Math.sqrt(variance);
    }
  }

  private static double seconds(Duration time) {
    return time.toNanos() / 1e9;
  }
}
