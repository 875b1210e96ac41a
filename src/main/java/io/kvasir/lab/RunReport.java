package io.kvasir.lab;

/**
 * The results of one run.
 *
 * @param setup which run of the plan it was
 * @param requests requests that count: those of the trace, without the first ones that fill the caches
 * @param rejected requests for which no worker was found
 * @param goodput share of the requests that met the objective, 0 to 1; rejected ones did not
 * @param fairness how evenly tenants and programs were served
 * @param holds the requests that the guard held back
 * @param cache how much of the prompts was found in caches
 * @param latencies times of the answered requests
 * @param imbalance prompt tokens computed by the busiest engine, in multiples of the mean
 * @param engines what the engines cost
 * @param estimates what the router knew of their speed in the end
 * @param outputTokensPerSecond tokens of answers per second, from the first arrival to the last token
 */
public record RunReport(
    RunSetup setup,
    int requests,
    int rejected,
    double goodput,
    Fairness fairness,
    Holds holds,
    CacheHits cache,
    Latencies latencies,
    double imbalance,
    Engines engines,
    CostEstimates estimates,
    double outputTokensPerSecond) {
  /**
   * What tells a run from the others of its plan.
   *
   * @param trace name of the trace
   * @param engine name of the engine model
   * @param workers the number of engines by role
   * @param elastic whether the fleet grows and shrinks, as written
   * @param scale load, as a multiple of the trace's own
   * @param seed seed of everything random
   * @param index the index mode, as written
   * @param guard the thrash guard, as written
   * @param options other options that are not the usual ones, as written; empty for none
   * @param profile name of the profile
   */
  public record RunSetup(
      String trace,
      String engine,
      Pools workers,
      String elastic,
      double scale,
      long seed,
      String index,
      String guard,
      String options,
      String profile) {
    /** The same of another profile: what profiles are compared by. */
    RunSetup under(String other) {
      return new RunSetup(trace, engine, workers, elastic, scale, seed, index, guard, options, other);
    }

    /** The same of another seed. */
    RunSetup seeded(long other) {
      return new RunSetup(trace, engine, workers, elastic, scale, other, index, guard, options, profile);
    }
  }

  /**
   * The requests that the thrash guard held back. The time is part of their times to the first token.
   *
   * @param held how many
   * @param longestMs the longest hold, milliseconds
   * @param goodputOfOthers goodput of those that were not held; NaN when all were
   */
  public record Holds(int held, double longestMs, double goodputOfOthers) {}

  /**
   * The engines of a run, those that load or finish included.
   *
   * @param hours engine-hours from the beginning to the last token
   * @param fewest the fewest there were to be
   * @param most the most there were to be
   * @param changes how often the number changed
   * @param turns how often it went the other way than the time before
   */
  public record Engines(double hours, int fewest, int most, int changes, int turns) {}

  /**
   * What the router knew of the engines' speed.
   *
   * @param foundSeconds when its estimate of every engine came within a tenth of what the engine is, relative to the
   *     others, to stay there; 0 when it began so, NaN when it never did
   * @param worstError the worst such error in the end, as a share
   * @param level the estimates in the end in multiples of what the engines are, the median engine's
   */
  public record CostEstimates(double foundSeconds, double worstError, double level) {}

  /**
   * The use of the engines' caches.
   *
   * @param rate share of the prompt tokens of answered requests found in a cache, 0 to 1
   * @param ceiling the rate of a single unlimited cache, of the same requests
   */
  public record CacheHits(double rate, double ceiling) {}

  /**
   * The distributions of the times of answered requests, milliseconds.
   *
   * @param ttft to the first token
   * @param tpot per further token
   * @param e2e to the last token
   * @param session from a conversation's first request to its last token, where turns follow answers
   */
  public record Latencies(Latency ttft, Latency tpot, Latency e2e, Latency session) {}
}
