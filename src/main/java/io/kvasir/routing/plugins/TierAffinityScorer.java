package io.kvasir.routing.plugins;

import io.kvasir.index.Tier;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Arrays;
import java.util.Set;

/**
 * Score of the share of the prompt that a worker has cached, each block weighted by its tier: {@code device} (1),
 * {@code host} (0.75), {@code disk} (0.5), {@code remote} (0.25). A block that has to be fetched is worth less than one
 * on the device, and more than one that has to be computed.
 *
 * <p>Tiers are read, block by block, for the {@code look-at} (8) workers with most of the prompt. Blocks of the other
 * workers, and predicted blocks, are weighted as on the device.
 */
final class TierAffinityScorer implements Scorer {
  private final double[] weights = new double[Tier.values().length];
  private final int maxWorkers;

  TierAffinityScorer(Parameters parameters) {
    weights[Tier.DEVICE.index()] = parameters.number("device", 1, 0, 1);
    weights[Tier.HOST.index()] = parameters.number("host", 0.75, 0, 1);
    weights[Tier.DISK.index()] = parameters.number("disk", 0.5, 0, 1);
    weights[Tier.REMOTE.index()] = parameters.number("remote", 0.25, 0, 1);
    this.maxWorkers = parameters.whole("look-at", 8, 1, 256);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    double onDevice = weights[Tier.DEVICE.index()];
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = onDevice * prompt.cached(candidates.depth[slot]) / prompt.tokens();
    }
    int[] deepest = new int[Math.min(maxWorkers, candidates.slots())];
    int count = deepest(candidates, deepest);
    int[] blocks = new int[weights.length];
    for (int i = 0; i < count; i++) {
      int slot = deepest[i];
      Arrays.fill(blocks, 0);
      int held = candidates.tiers(slot, blocks);
      out[slot] *= held == 0 ? 1 : relativeWeight(blocks, held, candidates.depth[slot]);
    }
  }

  /** The mean weight of a worker's blocks, relative to the device's. */
  private double relativeWeight(int[] blocks, int held, int depth) {
    double onDevice = weights[Tier.DEVICE.index()];
    double sum = Math.max(0, depth - held) * onDevice;
    for (int tier = 0; tier < blocks.length; tier++) {
      sum += blocks[tier] * weights[tier];
    }
    return onDevice == 0 ? 0 : sum / onDevice / Math.max(depth, held);
  }

  /** Writes the slots of the workers with most of the prompt, deepest first, and returns how many there are. */
  private static int deepest(Candidates candidates, int[] slots) {
    int count = 0;
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int depth = candidates.depth[slot];
      if (depth == 0 || (count == slots.length && depth <= candidates.depth[slots[count - 1]])) {
        continue;
      }
      int at = count < slots.length ? count++ : count - 1;
      while (at > 0 && depth > candidates.depth[slots[at - 1]]) {
        slots[at] = slots[at - 1];
        at--;
      }
      slots[at] = slot;
    }
    return count;
  }

  @Override
  public Direction direction() {
    return Direction.HIGHER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN);
  }
}
