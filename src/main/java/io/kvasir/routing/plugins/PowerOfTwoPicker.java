package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Picker;
import io.kvasir.routing.RoutingContext;

/**
 * Picks the better of two random candidates: nearly as balanced as the best of all, without sending every request to
 * the same worker while its load is not yet known. (Mitzenmacher 2001.)
 */
final class PowerOfTwoPicker implements Picker {
  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    int drawn = RandomPicker.sample(context.random(), candidates, ranked, Math.min(2, ranked.length));
    if (drawn == 2 && better(ranked[1], ranked[0], candidates, scores)) {
      int first = ranked[0];
      ranked[0] = ranked[1];
      ranked[1] = first;
    }
    return drawn;
  }

  private static boolean better(int slot, int other, Candidates candidates, double[] scores) {
    return scores[slot] > scores[other]
        || (scores[slot] == scores[other] && candidates.inFlight[slot] < candidates.inFlight[other]);
  }

  @Override
  public boolean readsScores() {
    return true;
  }
}
