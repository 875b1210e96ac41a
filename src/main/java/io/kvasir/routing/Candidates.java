package io.kvasir.routing;

import io.kvasir.index.Chain;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The workers a decision chooses from, as columns indexed by slot, so that 256 of them cost
 * microseconds. {@code live} says which slots are still in; a filter takes slots out, nothing puts
 * them back. One decision at a time; reused between decisions of a thread.
 */
public final class Candidates {
  /** What an engine has not said, or not lately. */
  public static final int UNKNOWN = -1;

  /** Bitmap of the slots still in, {@code slots / 64} longs. */
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

  /** Requests that wait in the engine by its own word, {@link #UNKNOWN} where it says nothing. */
  public final int[] waiting;

  /** Share of the KV cache in use by the engine's own word, 0 to 1, {@link #UNKNOWN} where it says nothing. */
  public final double[] kvUse;

  /**
   * Leading tokens of the prompt that the worker can load from a cache beside it, at {@link #loadableTier}, counted
   * from the first one; 0 where nothing is known. Scorers that hear of it fill it in, and load is booked without them.
   */
  public final int[] loadable;

  /** {@link io.kvasir.index.Tier#index} of where {@link #loadable} are. */
  public final int[] loadableTier;

  /** The immutable table of workers, null where a slot is empty. */
  public Worker[] workers = new Worker[0];

  private final int slots;
  private @Nullable Fleet fleet;
  private Chain chain = Chain.EMPTY;

  /** Columns for a cell of {@code slots} (64, 128 or 256) workers. */
  public Candidates(int slots) {
    this.slots = slots;
    this.live = new long[slots >>> 6];
    this.depth = new int[slots];
    this.inFlight = new int[slots];
    this.pendingTokens = new long[slots];
    this.queueMs = new double[slots];
    this.contextTokens = new long[slots];
    this.waiting = new int[slots];
    this.kvUse = new double[slots];
    this.loadable = new int[slots];
    this.loadableTier = new int[slots];
    Arrays.fill(waiting, UNKNOWN);
    Arrays.fill(kvUse, UNKNOWN);
  }

  /** Whom {@link #tiers} asks, and of which prompt. */
  void bind(@Nullable Fleet theirs, Chain prompt) {
    fleet = theirs;
    chain = prompt;
  }

  /**
   * In which tiers a worker holds the prompt: adds the number of leading blocks to {@code blocks}, at the {@link
   * io.kvasir.index.Tier#index} of each one's nearest tier, and returns how many those are; 0 when it cannot be told.
   * Blocks that are only predicted may not be among them. Costs a look-up per block: for a few workers.
   */
  public int tiers(int slot, int[] blocks) {
    return fleet == null ? 0 : fleet.tiers(chain, slot, blocks);
  }

  /**
   * How many leading blocks of the prompt a cache beside the worker's engine was once said to hold, by {@link
   * Fleet#hintedBlocks}. Costs a look-up for every chunk that it may hold.
   */
  public int hintedBlocks(int slot) {
    return fleet == null ? 0 : fleet.hintedBlocks(chain, slot);
  }

  /** Width of the columns. */
  public int slots() {
    return slots;
  }

  /** Whether a slot is still in. */
  public boolean has(int slot) {
    return (live[slot >>> 6] & (1L << slot)) != 0;
  }

  /** Takes a slot out. */
  public void remove(int slot) {
    live[slot >>> 6] &= ~(1L << slot);
  }

  /** How many are still in. */
  public int count() {
    int count = 0;
    for (long word : live) {
      count += Long.bitCount(word);
    }
    return count;
  }

  /** The first slot still in at or after {@code from}, -1 if there is none: the loop of every stage. */
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
