package io.kvasir.routing;

/** Removes candidates. */
public non-sealed interface Filter extends Plugin {
  /** Takes the candidates out that must not be chosen. Never waits; allocates nothing per candidate. */
  void filter(RoutingContext context, Candidates candidates);

  /**
   * Whether it looks at {@link Candidates#depth}: it then runs when caches have been searched, after all
   * filters that do not and so spare the search their victims.
   */
  default boolean afterSearch() {
    return false;
  }

  /** What the fleet lacks when this filter leaves no candidate. */
  UnmetNeed unmetNeed();

  /**
   * Asked when nobody can be chosen, whoever removed the last one: whether the pass is to be made once more without
   * this filter, because not heeding it is better than refusing the request.
   */
  default boolean relax(RoutingContext context) {
    return false;
  }
}
