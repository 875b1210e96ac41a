package io.kvasir.routing.cost;

import io.kvasir.index.Tier;

/**
 * What it takes to load KV blocks that are held beside an engine.
 *
 * @param setupMs milliseconds before the first token
 * @param microsPerToken microseconds for each token
 */
public record LoadingCost(double setupMs, double microsPerToken) {
  /** What it takes from a tier where nobody says otherwise; a token of an 8B model is 128 KiB. */
  public static LoadingCost of(Tier tier) {
    return switch (tier) {
      case DEVICE -> new LoadingCost(0, 0);
      case HOST -> new LoadingCost(0.5, 3);
      case DISK -> new LoadingCost(2, 25);
      case REMOTE -> new LoadingCost(5, 12);
    };
  }

  /** Milliseconds for so many tokens. */
  public double ms(int tokens) {
    return setupMs + tokens * microsPerToken / 1e3;
  }
}
