package io.kvasir.routing;

/** Chooses among the candidates still in, ranked. */
public non-sealed interface Picker extends Plugin {
  /**
   * Writes the slots it would take, best first and each once, to {@code ranked} and returns how many: at
   * least one, since it is only asked while there are candidates, and at most {@code ranked.length}. A
   * worker that turns out to be full yields to the one ranked after it; when all of them are, they are
   * taken out and the picker is asked again.
   *
   * @param scores {@code scores[slot]} of every candidate still in, the highest best; all 0 in a profile
   *     without scorers. A picker may overwrite them.
   */
  int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked);

  /** Whether it looks at scores: a profile with scorers nobody looks at, or the reverse, is refused. */
  boolean readsScores();

  /** Told when a worker was taken that it had not ranked first, those before being full. */
  default void onAlternativeChosen(RoutingContext context, Candidates candidates, int slot) {}
}
