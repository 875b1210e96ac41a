package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Picker;
import io.kvasir.routing.Ranking;
import io.kvasir.routing.RoutingContext;
import java.util.random.RandomGenerator;

/**
 * Picks at random with a preference for high scores: softmax with a {@code temperature} (0.1) in units of the spread
 * between the best score and the worst. Near 0 it is max-score, large it is random.
 *
 * <p>Adding Gumbel noise to scores and taking the largest draws from the softmax, and taking the next
 * largest draws again without replacement, so the ranking costs one pass. (Yellott 1977; Kool et al. 2019.)
 */
final class WeightedRandomPicker implements Picker {
  private final double temperature;

  WeightedRandomPicker(Parameters parameters) {
    this.temperature = parameters.number("temperature", 0.1, 1e-6, 1e6);
  }

  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    double min = Double.POSITIVE_INFINITY;
    double max = Double.NEGATIVE_INFINITY;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      min = Math.min(min, scores[slot]);
      max = Math.max(max, scores[slot]);
    }
    double unit = max > min ? temperature * (max - min) : 1;
    RandomGenerator random = context.random();
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      double exponential = -Math.log1p(-random.nextDouble());
      scores[slot] = (scores[slot] - max) / unit - Math.log(Math.max(exponential, Double.MIN_NORMAL));
    }
    return Ranking.byScore(context, candidates, scores, ranked);
  }

  @Override
  public boolean readsScores() {
    return true;
  }
}
