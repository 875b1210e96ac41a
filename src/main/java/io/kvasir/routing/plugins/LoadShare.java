package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;

/**
 * Load on a scale that the busiest candidate sets.
 *
 * @param most its requests in flight
 */
record LoadShare(int most) {
  static LoadShare of(Candidates candidates) {
    int most = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      most = Math.max(most, candidates.inFlight[slot]);
    }
    return new LoadShare(most);
  }

  /** 1 for a worker without requests, 0 for the busiest. */
  double free(int inFlight) {
    return most == 0 ? 1 : (double) (most - inFlight) / most;
  }
}
