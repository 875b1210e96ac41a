package io.kvasir.cell;

/**
 * The leading tokens of one prompt that are cached somewhere, as a decision knows them before an engine has answered.
 *
 * @param predicted what the chosen worker's engine should report as cached
 * @param confirmed how many of those the engine's events have reported; the others are only predicted
 * @param best the most that any worker held that could have been chosen; at least {@code predicted}
 * @param ever how many the cell has seen before, whoever holds them now; at least {@code best}
 */
public record CachedTokens(int predicted, int confirmed, int best, int ever) {
  /** Nothing is known to be cached. */
  public static final CachedTokens NONE = new CachedTokens(0, 0, 0, 0);

  /** Corrects {@code best} and {@code ever}, which a node of an earlier version does not know. */
  public CachedTokens {
    best = Math.max(predicted, best);
    ever = Math.max(best, ever);
  }

  /** Tokens that the best worker held and the chosen one has to compute. */
  public int avoidable() {
    return best - predicted;
  }

  /**
   * The regret of the decision: the share of avoidable tokens among all that are computed.
   *
   * @param promptTokens tokens of the prompt, at least 1
   * @return 0 to 1; 0 when routing had nothing to gain
   */
  public double regret(int promptTokens) {
    return avoidable() == 0 ? 0 : (double) avoidable() / (promptTokens - predicted);
  }
}
