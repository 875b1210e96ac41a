package io.kvasir.routing;

/** Gives every candidate one number. */
public non-sealed interface Scorer extends Plugin {
  /**
   * Writes the score of every candidate still in to {@code out[slot]}. Other entries are not looked at, so a
   * plain loop over all columns is right, and fastest, as long as it leaves the table of workers alone (it has
   * nulls). Never waits; allocates nothing per candidate. What is not a number counts as the worst score.
   */
  void score(RoutingContext context, Candidates candidates, double[] out);

  /**
   * Whether it knows what it goes by. When one of a profile's scorers does not, the profile's {@code otherwise} decides
   * about the request, if it names one; else it scores all the same. Costs as little as a score.
   */
  default boolean hasInputs(RoutingContext context, Candidates candidates) {
    return true;
  }

  /** Whether more is better (a share of the prompt) or less is (a cost, a load). */
  Direction direction();

  /** Told which worker the request got, its load booked; for scorers whose next scores depend on it. */
  default void onChosen(RoutingContext context, Candidates candidates, int slot) {}

  /** Which way a score points. */
  enum Direction {
    /** The highest score wins. */
    HIGHER,
    /** The lowest score wins. */
    LOWER
  }
}
