package io.kvasir.routing;

/** Removes candidates. */
public non-sealed interface Filter extends Plugin {
  /** Takes the candidates out that must not be chosen. Never waits; allocates nothing per candidate. */
  void filter(RoutingContext context, Candidates candidates);

  /** What the fleet lacks when this filter leaves no candidate. */
  Want want();
}
