package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;

/**
 * Load relative to the busiest candidate's.
 *
 * @param max requests in flight of the busiest candidate
 */
record LoadShare(int max) {
  static LoadShare of(Candidates candidates) {
    int max = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      max = Math.max(max, candidates.inFlight[slot]);
    }
    return new LoadShare(max);
  }

  /** 1 for a worker without requests, 0 for the busiest. */
  double free(int inFlight) {
    return max == 0 ? 1 : (double) (max - inFlight) / max;
  }
}
