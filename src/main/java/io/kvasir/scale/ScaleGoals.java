package io.kvasir.scale;

import java.time.Duration;

/**
 * What fleets are sized for.
 *
 * @param firstToken time to the first token that is to be kept
 * @param perToken time per further token that is to be kept
 * @param prefillShare share of a worker's time that prompts may take, above 0 to 1: the rest is for their ups and downs
 * @param startup how long a worker takes from being ordered to serving: the forecast reaches as far
 * @param settle how long a smaller number has to do before it is advised
 * @param least the fewest workers of a target
 * @param most the most
 */
public record ScaleGoals(
    Duration firstToken, Duration perToken, double prefillShare, Duration startup, Duration settle, int least,
    int most) {
  /** Checks the ranges. */
  public ScaleGoals {
    if (!(prefillShare > 0 && prefillShare <= 1) || least < 0 || most < Math.max(1, least)
        || !firstToken.isPositive() || !perToken.isPositive() || startup.isNegative() || settle.isNegative()) {
      throw new IllegalArgumentException("goals are out of range");
    }
  }
}
