package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Picker;
import io.kvasir.routing.RoutingContext;
import java.util.random.RandomGenerator;

/** Picks candidates uniformly at random: reservoir sampling, then a shuffle of the reservoir. */
final class RandomPicker implements Picker {
  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    return sample(context.random(), candidates, ranked, ranked.length);
  }

  /** Draws up to {@code size} candidates without replacement, in random order. */
  static int sample(RandomGenerator random, Candidates candidates, int[] ranked, int size) {
    int seen = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int at = seen < size ? seen : random.nextInt(seen + 1);
      if (at < size) {
        ranked[at] = slot;
      }
      seen++;
    }
    int drawn = Math.min(seen, size);
    for (int i = drawn - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      int swapped = ranked[i];
      ranked[i] = ranked[j];
      ranked[j] = swapped;
    }
    return drawn;
  }

  @Override
  public boolean readsScores() {
    return false;
  }
}
