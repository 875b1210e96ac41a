package io.kvasir.cell;

import io.kvasir.routing.Candidates;

/**
 * The load that an engine reports of itself: requests the router did not send are in it, too.
 *
 * @param running requests being computed, {@link Candidates#UNKNOWN} when it does not report it
 * @param waiting requests that wait for a place, {@link Candidates#UNKNOWN} when it does not report it
 * @param kvUse share of its KV cache in use by requests, 0 to 1, {@link Candidates#UNKNOWN} when it does not report it
 */
public record EngineReport(int running, int waiting, double kvUse) {
  /** Nothing is known, or what was is too old. */
  public static final EngineReport NONE =
      new EngineReport(Candidates.UNKNOWN, Candidates.UNKNOWN, Candidates.UNKNOWN);

  /** Two parts of one engine's load: requests add up, of caches the fuller counts. */
  public EngineReport and(EngineReport other) {
    return new EngineReport(
        sum(running, other.running), sum(waiting, other.waiting), Math.max(kvUse, other.kvUse));
  }

  private static int sum(int a, int b) {
    return a < 0 ? b : b < 0 ? a : a + b;
  }
}
