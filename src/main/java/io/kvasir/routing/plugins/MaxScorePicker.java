package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Picker;
import io.kvasir.routing.Ranking;
import io.kvasir.routing.RoutingContext;

/** Picks the best score; among equals the worker with fewest requests in flight, among those a random one. */
final class MaxScorePicker implements Picker {
  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    return Ranking.byScore(context, candidates, scores, ranked);
  }

  @Override
  public boolean readsScores() {
    return true;
  }
}
