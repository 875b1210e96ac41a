package io.kvasir.lab.rules;

import io.kvasir.index.Chain;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.Picker;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;
import java.util.Set;

/**
 * DualMap: the beginning of a prompt is mapped to two workers by two hash functions, so that prompts that begin alike
 * meet at few workers and different ones are spread by the power of two choices. Of the two the one with more of the
 * prompt is chosen, unless its first token would come after {@code ttft-ms} (the objective of the run); then the one
 * whose first token comes sooner, or which has fewer requests in flight.
 *
 * <p>Published: the two hash functions, a length of the beginning that adapts to how popular it is, the choice by the
 * objective, the moving of waiting requests between their two workers when one of these is a hot spot, and two rings of
 * hashes for fleets that change. Our reading: a beginning is popular, and made twice as long, while it has more than a
 * worker's share of the last {@code window} (1,024) requests, which fade exponentially; the estimate of the first token
 * is ours; workers are mapped by the highest of their hashes in place of rings, which moves as few keys. Left out is
 * the moving of requests: what a router has sent waits in the engine, and it cannot take it back.
 *
 * <p>Yuan, Zuo, Wang, Chen, Tan, Zhou: "DualMap: Enabling Both Cache Affinity and Load Balancing for Distributed LLM
 * Serving", ICLR 2026, arXiv 2602.06502. One thread.
 */
final class DualMapPicker implements Picker {
  private static final long SECOND = 0x9E3779B97F4A7C15L;

  private final double ttftMs;
  private final Popularity popularity;
  private final PerMembership<FleetCosts> costs;
  private final PerMembership<long[]> hashes = new PerMembership<>(DualMapPicker::hashes);

  DualMapPicker(Parameters parameters, CostModel costs, double objectiveMs) {
    this.ttftMs = parameters.number("ttft-ms", objectiveMs, 0, 1e9);
    this.popularity = new Popularity(parameters.whole("window", 1024, 16, 16_384));
    this.costs = PerMembership.costs(costs);
  }

  private static long[] hashes(Worker[] table) {
    long[] hashes = new long[table.length];
    for (int slot = 0; slot < table.length; slot++) {
      hashes[slot] = table[slot] == null ? 0 : Hashing.of(table[slot].id());
    }
    return hashes;
  }

  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    long key = key(context, candidates.count());
    int first = mapped(key, candidates, -1);
    int second = mapped(key + SECOND, candidates, first);
    if (second < 0) {
      ranked[0] = first;
      return 1;
    }
    boolean swapped = isBetter(context, candidates, second, first);
    ranked[0] = swapped ? second : first;
    ranked[1] = swapped ? first : second;
    return 2;
  }

  /** The key of the shortest beginning that is not popular; random when not one block is full. */
  private long key(RoutingContext context, int workers) {
    Chain chain = context.get(Slots.CHAIN);
    if (chain.length() == 0) {
      return context.random().nextLong();
    }
    popularity.next();
    int blocks = 1;
    while (popularity.shareWith(chain.hashes()[blocks - 1]) > 1.0 / workers && blocks < chain.length()) {
      blocks = Math.min(2 * blocks, chain.length());
    }
    return chain.hashes()[blocks - 1];
  }

  /** The candidate with the highest hash of key and worker; -1 when there is none but {@code taken}. */
  private int mapped(long key, Candidates candidates, int taken) {
    long[] workers = hashes.of(candidates);
    int best = -1;
    long highest = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      long hash = Hashing.mix(Hashing.mix(key) ^ workers[slot]);
      if (slot != taken && (best < 0 || hash > highest)) {
        best = slot;
        highest = hash;
      }
    }
    return best;
  }

  private boolean isBetter(RoutingContext context, Candidates candidates, int slot, int other) {
    PromptSize prompt = PromptSize.of(context);
    FleetCosts engines = costs.of(candidates);
    double slotMs = expectedMs(prompt, engines, candidates, slot);
    double otherMs = expectedMs(prompt, engines, candidates, other);
    int deeper = Integer.compare(candidates.depth[slot], candidates.depth[other]);
    boolean late = (deeper > 0 ? slotMs : otherMs) > ttftMs;
    if (deeper != 0 && !late) {
      return deeper > 0;
    }
    return slotMs != otherMs ? slotMs < otherMs : candidates.inFlight[slot] < candidates.inFlight[other];
  }

  private static double expectedMs(PromptSize prompt, FleetCosts engines, Candidates candidates, int slot) {
    int uncached = prompt.uncached(candidates.depth[slot]);
    return candidates.queueMs[slot] + engines.prefillMs(slot, uncached, prompt.tokens());
  }

  @Override
  public boolean readsScores() {
    return false;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN);
  }
}
