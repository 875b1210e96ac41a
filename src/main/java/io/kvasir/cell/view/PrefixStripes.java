package io.kvasir.cell.view;

import io.kvasir.index.Chain;
import io.kvasir.index.Prediction;
import io.kvasir.routing.Candidates;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Serialises decisions on prompts that are new in the same block, so that each sees what the one before predicted. What
 * a decision predicts is in the index when it is over, but of a burst many are under way at once, all of which have
 * looked before the first predicted. So a decision whose prompt goes on beyond what anybody holds enters the stripe of
 * the first block that no worker holds, and stays there until it has predicted; one that enters after a sibling looks
 * again.
 *
 * <p>Only decisions on prompts that are new in the same block wait for each other, each for what is left of
 * the one before: some microseconds without I/O. All others pass with one compare-and-set. Thread-safe.
 */
final class PrefixStripes {
  private static final long PHI = 0x9E3779B97F4A7C15L;
  private static final int BITS = 8;

  private final Stripe[] stripes = new Stripe[1 << BITS];

  PrefixStripes() {
    for (int i = 0; i < stripes.length; i++) {
      stripes[i] = new Stripe();
    }
  }

  /** Waits until no other decision is in the block's stripe, and enters it until {@link Stripe#unlock}. */
  Stripe lock(long block) {
    Stripe stripe = stripes[(int) ((block * PHI) >>> (Long.SIZE - BITS))];
    stripe.lock(block);
    return stripe;
  }

  /** A lock, and what the last decision that held it predicted. */
  static final class Stripe {
    private final ReentrantLock lock = new ReentrantLock();
    private long block;
    private boolean sameBlock;

    // What the last decision predicted, while the index does not know it yet.
    private @Nullable Prediction prediction;
    private Chain chain = Chain.EMPTY;
    private int slot;

    private void lock(long of) {
      lock.lock();
      sameBlock = block == of;
      block = of;
    }

    /** Whether the decision before this one was on the same block: it may have predicted since this one looked. */
    boolean isSameBlock() {
      return sameBlock;
    }

    /**
     * Adds to the depths what the decision before predicted and the index does not know yet, because the
     * worker's blocks were being written. Returns the depth there, 0 when there is nothing to add.
     */
    int addPending(Candidates candidates) {
      if (prediction == null || prediction.isPlaced()) {
        prediction = null;
        return 0;
      }
      // A sibling may have found a place in a wider index than this decision looks at.
      if (slot >= candidates.slots() || !candidates.has(slot)) {
        return 0;
      }
      Chain request = candidates.chain(slot);
      int most = Math.min(request.length(), chain.length());
      int common = 0;
      while (common < most && request.hashes()[common] == chain.hashes()[common]) {
        common++;
      }
      candidates.depth[slot] = Math.max(candidates.depth[slot], common);
      return candidates.depth[slot];
    }

    /** Keeps for the next decision what this one predicted. */
    void predicted(Prediction made, Chain of, int at) {
      if (!made.isPlaced()) {
        prediction = made;
        chain = of;
        slot = at;
      }
    }

    void unlock() {
      lock.unlock();
    }
  }
}
