package io.kvasir.routing;

/** A plugin of the score stage: gives every candidate one number. */
public non-sealed interface Scorer extends Plugin {
  /**
   * Writes the score of every remaining candidate to {@code out[slot]}. Other entries are ignored, so a plain loop over
   * all columns is correct, and fastest; the table of workers has nulls at empty slots. Never waits; allocates nothing
   * per candidate. Not a number counts as the worst score.
   */
  void score(RoutingContext context, Candidates candidates, double[] out);

  /**
   * Whether the scorer has its inputs. When one of a profile's scorers lacks them, the profile's {@code otherwise}
   * decides about the request, if it names one; else the scorers are used all the same. As cheap as {@link #score}.
   */
  default boolean hasInputs(RoutingContext context, Candidates candidates) {
    return true;
  }

  /** Whether more is better (a share of the prompt) or less is (a cost, a load). */
  Direction direction();

  /** Called when a worker was chosen and its load booked, for scorers whose next scores depend on it. */
  default void onChosen(RoutingContext context, Candidates candidates, int slot) {}

  /** The direction of a scorer's scores. */
  enum Direction {
    /** The highest score wins. */
    HIGHER,
    /** The lowest score wins. */
    LOWER
  }
}
