package io.kvasir.routing;

import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The candidate workers of a decision as columns indexed by slot, so that scoring 256 of them takes microseconds.
 * {@link #live} marks the remaining slots: filters clear bits, nothing sets them again. Used by one decision at a time
 * and reused by the next; not thread-safe.
 */
public final class Candidates {
  /** A value that the engine has not reported, or not recently. */
  public static final int UNKNOWN = -1;

  /** {@link #computingPrice} of a profile that has none of its own. */
  public static final double COMPUTING_PRICE = 3;

  /** Bitmap of the remaining slots, {@code slots / 64} longs. */
  public final long[] live;

  /** Leading blocks of the prompt's chain the worker holds. */
  public final int[] depth;

  /** Requests in flight, B in the cost formula. */
  public final int[] inFlight;

  /** Uncached prompt tokens routed there whose first token has not been seen. */
  public final long[] pendingTokens;

  /** Estimated milliseconds to drain {@link #pendingTokens}, Q in the cost formula. */
  public final double[] queueMs;

  /** Prompt tokens of the requests in flight, KV in the cost formula. */
  public final long[] contextTokens;

  /** Requests waiting in the engine as it reports them, {@link #UNKNOWN} where it does not. */
  public final int[] waiting;

  /** Share of the KV cache in use as the engine reports it, 0 to 1, {@link #UNKNOWN} where it does not. */
  public final double[] kvUse;

  /** Bitmap of the workers that compute no prompts for others now, as those fail to receive them; null for none. */
  public long @Nullable [] notHandingOver;

  /**
   * Share of what the worker evicted lately that had to be computed again, 0 to 1: how likely a block that is stored
   * there evicts one that will be missed. 0 where memory has room or nothing is known. Where the fleet learns it, not a
   * copy: a value may change from one reading to the next, and plugins only read.
   */
  public double[] evictionLoss;

  /**
   * Leading tokens of the prompt that the worker can load from a cache layer, at {@link #loadableTier}, or from another
   * worker, {@link #source}; 0 where nothing is known. Scorers that read a cache layer fill this in, and load is booked
   * without these tokens.
   */
  public final int[] loadable;

  /** {@link io.kvasir.index.Tier#index} of the tier that holds the {@link #loadable} tokens of a cache layer. */
  public final int[] loadableTier;

  /** Slot of the worker that has the {@link #loadable} tokens; -1 where no other worker has. */
  public final int[] source;

  /** Bitmap of the workers from which others could load, candidates or not; written where some can only. */
  final long[] sources;

  /** Milliseconds that it takes to load the {@link #loadable} tokens from {@link #source}, as may be expected. */
  public final double[] pullMs;

  /**
   * What a millisecond of computing the prompt counts against one of waiting, since what is computed there takes memory
   * and time from others: {@link #COMPUTING_PRICE} unless a scorer writes its own for each decision.
   */
  public final double[] computingPrice;

  /** The immutable table of workers, null where a slot is empty. */
  public Worker[] workers = new Worker[0];

  private final int slots;
  private final byte[] rendition;
  private boolean pulls;
  private @Nullable Fleet fleet;
  private Chain chain = Chain.EMPTY;
  private List<Rendition> renditions = List.of();

  /** Columns for a cell of {@code slots} (64, 128 or 256) workers. */
  public Candidates(int slots) {
    this.slots = slots;
    this.rendition = new byte[slots];
    this.live = new long[slots >>> 6];
    this.depth = new int[slots];
    this.inFlight = new int[slots];
    this.pendingTokens = new long[slots];
    this.queueMs = new double[slots];
    this.contextTokens = new long[slots];
    this.waiting = new int[slots];
    this.kvUse = new double[slots];
    this.evictionLoss = new double[slots];
    this.loadable = new int[slots];
    this.loadableTier = new int[slots];
    this.sources = new long[slots >>> 6];
    this.source = new int[slots];
    this.pullMs = new double[slots];
    this.computingPrice = new double[slots];
    Arrays.fill(computingPrice, COMPUTING_PRICE);
    Arrays.fill(waiting, UNKNOWN);
    Arrays.fill(kvUse, UNKNOWN);
  }

  /**
   * Sets the fleet and the prompt that are looked up.
   *
   * @param others the prompt for engines that prepare it otherwise
   */
  void bind(@Nullable Fleet candidatesFleet, Chain prompt, List<Rendition> others) {
    if (!renditions.isEmpty()) {
      Arrays.fill(rendition, (byte) 0);
    }
    fleet = candidatesFleet;
    chain = prompt;
    renditions = others;
  }

  /** The prompt for engines that prepare it otherwise; empty where all prepare it alike. */
  public List<Rendition> renditions() {
    return renditions;
  }

  /** A worker's engine prepares the prompt as one of the {@link #renditions}: the one at {@code index}. */
  public void preparedAs(int slot, int index) {
    rendition[slot] = (byte) (index + 1);
  }

  /** Whether a worker's engine prepares the prompt as the rendition at {@code index}. */
  public boolean isPreparedAs(int slot, int index) {
    return rendition[slot] == index + 1;
  }

  /** The prompt's blocks as a worker's engine prepares it. */
  public Chain chain(int slot) {
    Rendition own = rendition(slot);
    return own == null ? chain : own.chain();
  }

  /** The prompt as a worker's engine prepares it, null where that is as most do. */
  @Nullable Rendition rendition(int slot) {
    return rendition[slot] == 0 ? null : renditions.get(rendition[slot] - 1);
  }

  /**
   * Counts the leading blocks of the prompt that a worker holds by tier: adds each to {@code blocks} at the {@link
   * io.kvasir.index.Tier#index} of its nearest tier. Costs a look-up per block, so it is for a few workers.
   *
   * @return how many blocks were counted; 0 when tiers are not known. Predicted blocks may be missing
   */
  public int tiers(int slot, int[] blocks) {
    return fleet == null ? 0 : fleet.tiers(chain(slot), slot, blocks);
  }

  /**
   * Leading blocks of the prompt that a cache layer has reported as stored for the worker, see {@link
   * Fleet#hintedBlocks}. Costs a look-up per chunk.
   */
  public int hintedBlocks(int slot) {
    return fleet == null ? 0 : fleet.hintedBlocks(chain(slot), slot);
  }

  /** Nothing can be loaded. */
  public void clearLoadable() {
    Arrays.fill(loadable, 0);
    Arrays.fill(source, -1);
    pulls = false;
  }

  /** Whether some can load from other workers what costs less than to compute it. */
  public boolean pulls() {
    return pulls;
  }

  /**
   * A worker can load leading tokens from another one.
   *
   * @param tokens leading tokens that the other one has
   * @param from its slot
   * @param millis until those have come that the worker does not hold, and those are computed that are not found
   */
  void pull(int slot, int tokens, int from, double millis) {
    loadable[slot] = tokens;
    source[slot] = from;
    pullMs[slot] = millis;
    pulls = true;
  }

  /** Width of the columns. */
  public int slots() {
    return slots;
  }

  /** Whether a slot is still a candidate. */
  public boolean has(int slot) {
    return (live[slot >>> 6] & (1L << slot)) != 0;
  }

  /** Removes a slot. */
  public void remove(int slot) {
    live[slot >>> 6] &= ~(1L << slot);
  }

  /** The greatest value of a column without negative ones among the remaining candidates; 0 if there are none. */
  int greatest(int[] column) {
    int greatest = 0;
    if (count() == slots) {
      // One long loop, which the compiler makes vector instructions of; those of 64 are too short for it.
      for (int value : column) {
        greatest = Math.max(greatest, value);
      }
      return greatest;
    }
    for (int word = 0; word < live.length; word++) {
      for (long left = live[word]; left != 0; left &= left - 1) {
        greatest = Math.max(greatest, column[(word << 6) + Long.numberOfTrailingZeros(left)]);
      }
    }
    return greatest;
  }

  /** The number of remaining candidates. */
  public int count() {
    int count = 0;
    for (long word : live) {
      count += Long.bitCount(word);
    }
    return count;
  }

  /** The first remaining slot at or after {@code from}, -1 if there is none. */
  public int next(int from) {
    int word = from >>> 6;
    if (word >= live.length) {
      return -1;
    }
    long bits = live[word] & (-1L << from);
    while (bits == 0) {
      if (++word == live.length) {
        return -1;
      }
      bits = live[word];
    }
    return (word << 6) + Long.numberOfTrailingZeros(bits);
  }
}
