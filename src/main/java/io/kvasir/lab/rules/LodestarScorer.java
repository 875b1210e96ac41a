package io.kvasir.lab.rules;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * Lodestar: the worker whose first token is expected soonest, by a predictor that is trained while requests run, on
 * what was known of request and worker when each was sent and on the time that it then took.
 *
 * <p>Published: that snapshots per request of the workers' state, the request and the observed performance train a
 * predictor of a reward, such as a short time to first token, online, and that the worker with the greatest is chosen.
 * Our reading, since the predictor's form is not in what we have: a linear model for each worker ({@link TtftLearner}),
 * which so finds out slow ones, of tokens to compute, their attention, tokens queued, requests in flight and their
 * contexts; a share {@code explore} (0.01) of the requests goes to random workers, so that one that was slow once is
 * seen again; until all candidates are known the one with the least prefill work left is chosen.
 *
 * <p>Lim, Zhao, Xu, Shan, Xie, Godfrey: "Lodestar: An Online-Learning LLM Inference Router", arXiv 2606.00946, 2026.
 * One thread.
 */
final class LodestarScorer implements Scorer {
  private final double explore;
  private final TtftLearner learner;
  private final double[] features = new double[TtftLearner.FEATURES];

  LodestarScorer(Parameters parameters, TtftLearner learner) {
    this.explore = parameters.number("explore", 0.01, 0, 1);
    this.learner = learner;
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    boolean explores = context.random().nextDouble() < explore;
    boolean known = !explores && knowsAll(candidates);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (explores) {
        out[slot] = context.random().nextDouble();
      } else if (known) {
        describe(prompt, candidates, slot);
        out[slot] = learner.expectedMs(slot, features);
      } else {
        out[slot] = candidates.pendingTokens[slot] + prompt.uncached(candidates.depth[slot]);
      }
    }
  }

  private boolean knowsAll(Candidates candidates) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (!learner.knows(slot)) {
        return false;
      }
    }
    return true;
  }

  /** Writes the features of a request at a worker, all of the size of seconds. */
  private void describe(PromptSize prompt, Candidates candidates, int slot) {
    double uncached = prompt.uncached(candidates.depth[slot]);
    features[0] = 1;
    features[1] = uncached * 1e-4;
    features[2] = uncached * (prompt.tokens() - uncached / 2) * 1e-9;
    features[3] = candidates.pendingTokens[slot] * 1e-4;
    features[4] = candidates.inFlight[slot] * 1e-2;
    features[5] = candidates.contextTokens[slot] * 1e-6;
  }

  @Override
  public void onChosen(RoutingContext context, Candidates candidates, int slot) {
    describe(PromptSize.of(context), candidates, slot);
    learner.chosen(slot, features);
  }

  @Override
  public Direction direction() {
    return Direction.LOWER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN);
  }
}
