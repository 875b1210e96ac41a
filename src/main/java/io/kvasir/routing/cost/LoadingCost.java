package io.kvasir.routing.cost;

import io.kvasir.index.Tier;

/**
 * The time to load KV blocks from a tier of a cache layer.
 *
 * @param setupMs milliseconds before the first token
 * @param microsPerToken microseconds for each token
 */
public record LoadingCost(double setupMs, double microsPerToken) {
  /** The default cost of a tier, for an 8B model whose KV cache takes 128 KiB per token. */
  public static LoadingCost of(Tier tier) {
    return switch (tier) {
      case DEVICE -> new LoadingCost(0, 0);
      case HOST -> new LoadingCost(0.5, 3);
      case DISK -> new LoadingCost(2, 25);
      case REMOTE -> new LoadingCost(5, 12);
    };
  }

  /** Milliseconds to load {@code tokens} tokens. */
  public double ms(int tokens) {
    return setupMs + tokens * microsPerToken / 1e3;
  }
}
