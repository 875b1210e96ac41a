package io.kvasir.routing;

/** A plugin of the filter stage: removes candidates that must not be chosen. */
public non-sealed interface Filter extends Plugin {
  /** Removes candidates. Never waits; allocates nothing per candidate. */
  void filter(RoutingContext context, Candidates candidates);

  /**
   * Whether the filter reads {@link Candidates#depth}: it then runs after the index search. The other filters run
   * before, so that the search is over fewer candidates.
   */
  default boolean afterSearch() {
    return false;
  }

  /** What the fleet lacks when this filter removes the last candidate. */
  UnmetNeed unmetNeed();

  /**
   * Whether the pass is repeated without this filter after all candidates were removed, by whichever filter: for
   * preferences that are better ignored than enforced by refusing the request.
   */
  default boolean relax(RoutingContext context) {
    return false;
  }
}
