package io.kvasir.routing;

import io.kvasir.routing.cost.FleetCosts;

/**
 * Which workers begin a request earlier than the one that was picked for it, when it is held for what is queued there:
 * those that let it go now and where
 *
 * <pre>Q + T + P(r) + (K − 1)·P(u)</pre>
 *
 * <p>is less than at the one that was picked, and without the last term, too. Q is the work queued, u are the tokens
 * that the worker has not cached, r those of them that it does not load from another one, which takes T, and P the time
 * to compute them: so long until the first token. The last term is what the copy in its memory costs others, at the
 * profile's {@linkplain Candidates#computingPrice price of computing} K. Without it requests that wait would spread
 * their prefixes over the fleet to begin a few milliseconds earlier, and evict what others wait for.
 *
 * <p>How many requests decode at a worker is left out, though profiles count it: where a request is held most workers
 * have as many as they take.
 */
final class EarlierStart {
  private final QueueLimit limit;
  private final Candidates candidates;
  private final FleetCosts costs;
  private final PromptSize prompt;

  /** Among the candidates of one decision, after they were scored. */
  EarlierStart(QueueLimit limit, Candidates candidates, FleetCosts costs, PromptSize prompt) {
    this.limit = limit;
    this.candidates = candidates;
    this.costs = costs;
    this.prompt = prompt;
  }

  /** Removes all candidates but those that begin the request earlier than the one at a slot, for which it is held. */
  void keepEarlierThan(int held) {
    double startMs = startMs(held);
    double costMs = startMs + othersMs(held);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      if (slot == held || isHeldAt(slot) || startMs(slot) >= startMs || startMs(slot) + othersMs(slot) >= costMs) {
        candidates.remove(slot);
      }
    }
  }

  /** Whether the request is held for the worker at a slot. */
  boolean isHeldAt(int slot) {
    return limit.holds(candidates.workers[slot], queueMs(slot));
  }

  private double queueMs(int slot) {
    return limit.queueMs(slot, candidates.queueMs[slot]);
  }

  /** Estimated milliseconds until the prompt has been read. */
  private double startMs(int slot) {
    int uncached = prompt.uncached(candidates.depth[slot], candidates.loadable[slot]);
    double pullMs = candidates.source[slot] < 0 ? 0 : candidates.pullMs[slot];
    return queueMs(slot) + pullMs + costs.prefillMs(slot, uncached, prompt.tokens());
  }

  /** What the prompt in the worker's memory costs others, in milliseconds: as much however it comes there. */
  private double othersMs(int slot) {
    int uncached = prompt.uncached(candidates.depth[slot]);
    return Math.max(0, candidates.computingPrice[slot] - 1) * costs.prefillMs(slot, uncached, prompt.tokens());
  }
}
