package io.kvasir.enginemodel;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A sequence: a prompt and the tokens generated after it, as scheduler and cache see it: lengths, block keys and the
 * blocks held. The tokens themselves are up to the subclass. Owned by the thread that drives the scheduler.
 */
public abstract class Sequence {
  private static final HeldBlocks[] NO_GROUPS = {};

  private final int promptLength;
  private int length;
  private int cachedTokens = -1;

  /** Tokens whose keys and values are in the blocks held. */
  int computed;
  /** Tokens in the running step. */
  int chunk;
  /** The blocks held, in order; the first {@code blockCount} count. */
  int[] blocks = new int[8];
  int blockCount;
  /** How many of them, from the first, are in the prefix cache under their key. */
  int keyed;
  /** What the groups of a hybrid model hold of it, by number, from 1 on. */
  HeldBlocks[] groups = NO_GROUPS;
  /** Leading blocks that the prefix had when a hybrid model's sequence went on from earlier; 0 if it did not. */
  int sharedBlocks;
  boolean waiting;
  boolean running;

  /** A sequence of {@code promptLength} ≥ 1 tokens, of which none is computed. */
  protected Sequence(int promptLength) {
    if (promptLength < 1) {
      throw new IllegalArgumentException("A sequence needs at least one token");
    }
    this.promptLength = promptLength;
    this.length = promptLength;
  }

  /** The key of full block {@code block} (0-based): equal keys, equal tokens from the start to its end. */
  protected abstract long key(int block);

  /**
   * Called when all tokens are computed. Adds the next token with {@link #grow()}, or ends without another.
   *
   * @return whether the sequence is complete
   */
  protected abstract boolean sample();

  /**
   * How many calls of {@link #sample()}, from the next one on, do nothing but {@link #grow()}, at least; a scheduler
   * may then replace them by one of {@link #samplePlain}.
   */
  protected int plainSamples() {
    return 0;
  }

  /** Samples {@code count} tokens, at most {@link #plainSamples()}, at once. */
  protected void samplePlain(int count) {
    length += count;
  }

  /**
   * The number of leading tokens whose keys and values are copied from another engine once blocks for them are
   * reserved; 0 when all are computed here. Called at every admission.
   */
  protected int remoteTokens() {
    return 0;
  }

  /**
   * Called when blocks for the {@link #remoteTokens()} are held: copy all but the first {@code from}, then call {@link
   * Scheduler#loaded} or {@link Scheduler#loadFailed}.
   */
  protected void load(int from) {}

  /** Whether what caches have of its beginning is taken from there, and not computed again. */
  protected boolean findsPrefix() {
    return true;
  }

  /** Whether its blocks stay held after its end, for another engine to copy, until it is aborted. */
  protected boolean keepsBlocks() {
    return false;
  }

  /** The session that keeps its blocks after its end; null for none. */
  protected @Nullable String session() {
    return null;
  }

  /** The blocks held, in order. */
  protected final int[] blocksHeld() {
    return Arrays.copyOf(blocks, blockCount);
  }

  /** Adds a token, sampled and not yet computed. */
  protected final void grow() {
    length++;
  }

  /** The number of tokens of the prompt. */
  public final int promptLength() {
    return promptLength;
  }

  /** The number of tokens of the prompt and of those sampled. */
  public final int length() {
    return length;
  }

  /** The number of tokens found in the cache when the sequence was first admitted; −1 before. */
  public final int cachedTokens() {
    return cachedTokens;
  }

  /** Whether the only token left to compute is one that was sampled. */
  final boolean decoding() {
    return computed >= promptLength && computed == length - 1;
  }

  final void admitted(int cached) {
    computed = cached;
    if (cachedTokens < 0) {
      cachedTokens = cached;
    }
  }

  final void hold(int block) {
    makeRoom(1);
    blocks[blockCount++] = block;
  }

  final void makeRoom(int more) {
    if (blockCount + more > blocks.length) {
      blocks = Arrays.copyOf(blocks, Math.max(blockCount + more, blockCount * 2));
    }
  }
}
