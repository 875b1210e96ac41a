package io.kvasir.routing;

/** A plugin of the pick stage: ranks the remaining candidates. */
public non-sealed interface Picker extends Plugin {
  /**
   * Writes the slots of the best candidates, best first and each once, to {@code ranked}. When a worker is full at
   * booking, the next in the ranking is tried; when all of them are full, they are removed and the picker is called
   * again.
   *
   * @param candidates at least one
   * @param scores {@code scores[slot]} of every remaining candidate, the highest best; all 0 in a profile without
   *     scorers. A picker may overwrite them.
   * @return how many slots were written: at least one and at most {@code ranked.length}
   */
  int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked);

  /** Whether the picker reads scores: a profile computes scores exactly when its picker reads them. */
  boolean readsScores();

  /** Called when a worker was chosen that was not ranked first, since those before it are full or busy. */
  default void onAlternativeChosen(RoutingContext context, Candidates candidates, int slot) {}
}
