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
 * The share of the prompt a worker has cached, each block worth what its tier is: {@code device} (1), {@code host}
 * (0.75), {@code disk} (0.5), {@code remote} (0.25). A block that has to be fetched is worth less than one that is
 * there, and more than one that has to be computed.
 *
 * <p>Tiers are read, block by block, for the {@code look-at} (8) workers with most of the prompt; of the others every
 * block counts as if it were in the device. So do blocks that are only predicted.
 */
final class TierAffinityScorer implements Scorer {
  private final double[] worth = new double[Tier.values().length];
  private final int lookAt;

  TierAffinityScorer(Parameters parameters) {
    worth[Tier.DEVICE.index()] = parameters.number("device", 1, 0, 1);
    worth[Tier.HOST.index()] = parameters.number("host", 0.75, 0, 1);
    worth[Tier.DISK.index()] = parameters.number("disk", 0.5, 0, 1);
    worth[Tier.REMOTE.index()] = parameters.number("remote", 0.25, 0, 1);
    this.lookAt = parameters.whole("look-at", 8, 1, 256);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    PromptSize prompt = PromptSize.of(context);
    double inDevice = worth[Tier.DEVICE.index()];
    for (int slot = 0; slot < candidates.slots(); slot++) {
      out[slot] = inDevice * prompt.cached(candidates.depth[slot]) / prompt.tokens();
    }
    int[] deepest = new int[Math.min(lookAt, candidates.slots())];
    int count = deepest(candidates, deepest);
    int[] blocks = new int[worth.length];
    for (int i = 0; i < count; i++) {
      int slot = deepest[i];
      Arrays.fill(blocks, 0);
      int held = candidates.tiers(slot, blocks);
      out[slot] *= held == 0 ? 1 : value(blocks, held, candidates.depth[slot]);
    }
  }

  /** What a block of the worker's is worth on average, in blocks of the device. */
  private double value(int[] blocks, int held, int depth) {
    double inDevice = worth[Tier.DEVICE.index()];
    double sum = Math.max(0, depth - held) * inDevice;
    for (int tier = 0; tier < blocks.length; tier++) {
      sum += blocks[tier] * worth[tier];
    }
    return inDevice == 0 ? 0 : sum / inDevice / Math.max(depth, held);
  }

  /** The slots of those with most of the prompt, and how many there are. */
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
