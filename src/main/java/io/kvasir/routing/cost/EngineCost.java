package io.kvasir.routing.cost;

/**
 * The cost coefficients of one engine, in milliseconds. A linear term for matrix multiplications and a quadratic one
 * for attention: a token attends to every token before it, so computing the last {@code u} of {@code n} tokens takes
 * {@code u·(n − u/2)} token pairs.
 *
 * @param msPerToken ms per prompt token computed, more than 0
 * @param msPerPair ms per (token, earlier token) pair attended to
 * @param msPerContextToken ms per token of context and generated token: the cost of long contexts in each decode step
 * @param kvTokens tokens its KV cache holds, more than 0
 */
public record EngineCost(double msPerToken, double msPerPair, double msPerContextToken, double kvTokens) {
  /** Checks the ranges. */
  public EngineCost {
    if (!(msPerToken > 0) || !(msPerPair >= 0) || !(msPerContextToken >= 0) || !(kvTokens > 0)) {
      throw new IllegalArgumentException(
          "an engine's cost per token and its cache must be positive and the others not negative: " + this);
    }
  }

  /** Milliseconds to compute the last {@code uncached} of {@code prompt} tokens. */
  public double prefillMs(int uncached, int prompt) {
    return prefillMs(msPerToken, msPerPair, uncached, prompt);
  }

  /** The cost with prefill coefficients multiplied by {@code factor}. */
  EngineCost prefillScaled(double factor) {
    return new EngineCost(factor * msPerToken, factor * msPerPair, msPerContextToken, kvTokens);
  }

  /** The cost of an engine that takes {@code factor} times as long for everything. */
  EngineCost paced(double factor) {
    return new EngineCost(factor * msPerToken, factor * msPerPair, factor * msPerContextToken, kvTokens);
  }

  static double prefillMs(double msPerToken, double msPerPair, int uncached, int prompt) {
    double u = uncached;
    return u * (msPerToken + msPerPair * (prompt - u / 2));
  }
}
