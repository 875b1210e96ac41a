package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import java.util.random.RandomGenerator;

/** A random score, 0 to 1: with a small weight it keeps several routers from choosing the same worker. */
final class RandomScorer implements Scorer {
  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    RandomGenerator random = context.random();
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = random.nextDouble();
    }
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }
}
