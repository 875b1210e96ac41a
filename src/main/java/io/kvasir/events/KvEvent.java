package io.kvasir.events;

import io.kvasir.index.Tier;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An event of one worker's KV cache, or of the stream that carries its events. Engine keys are 64-bit patterns: opaque,
 * never ordered, never read as a signed number. Arrays in events are never changed after construction.
 */
public sealed interface KvEvent {
  /** {@link Stored#group}, {@link Removed#group}: the engine did not name one. */
  int UNSPECIFIED = -1;

  /**
   * Blocks that follow one another were stored.
   *
   * @param root whether the first block begins a prompt; {@code parentKey} is then 0
   * @param parentKey the engine's key of the block before the first
   * @param keys the blocks' engine keys, in order
   * @param tokens token ids as unsigned 32-bit; {@code keys.length × blockSize} of them where they can be
   *     assigned to blocks, none in a placeholder, more where the engine skipped blocks. Of the token pairs
   *     of a bigram cache the first of each
   * @param blockSize tokens in each block: the page, less for a partial block, 0 in a placeholder
   * @param tier where the blocks are
   * @param lora the adapter's name, {@code lora id N} where the engine sent only its number, null for the
   *     base model
   * @param cacheSalt the salt where the engine names it as such (SGLang); vLLM hides it in {@code extraKeys}
   * @param group KV cache group of a hybrid model, {@link #UNSPECIFIED} where the engine does not name it
   * @param spec what kind of attention the group serves
   * @param extraKeys one list per block, or empty when no block has any
   * @param onceComputed whether its engine shares a prompt's blocks only once it has computed them, and so computes
   *     them again for a prompt that comes before (SGLang); vLLM shares them as soon as it has planned them
   * @param lookahead how prompts have to go on after each block to share it
   */
  record Stored(
      boolean root,
      long parentKey,
      long[] keys,
      int[] tokens,
      int blockSize,
      Tier tier,
      @Nullable String lora,
      @Nullable String cacheSalt,
      int group,
      Spec spec,
      List<List<ExtraKey>> extraKeys,
      boolean onceComputed,
      Lookahead lookahead)
      implements KvEvent {
    /** Of an engine that shares what it has planned, however prompts go on. */
    public Stored(
        boolean root,
        long parentKey,
        long[] keys,
        int[] tokens,
        int blockSize,
        Tier tier,
        @Nullable String lora,
        @Nullable String cacheSalt,
        int group,
        Spec spec,
        List<List<ExtraKey>> extraKeys) {
      this(root, parentKey, keys, tokens, blockSize, tier, lora, cacheSalt, group, spec, extraKeys, false,
          Lookahead.ANY);
    }
  }

  /**
   * How prompts have to go on after a block to share it. What a draft model keeps of a block's last token depends on
   * the one after it, so engines that speculate with EAGLE or MTP make that a part of the block: vLLM from 0.33 on by
   * {@code lookahead_token_ids}, of which only the first counts here, SGLang by keys of token pairs.
   *
   * @param tokens of each block the token after it; none where it does not matter
   * @param least tokens that a prompt has to have after a block to be found to share it; 0 where it does not matter
   */
  record Lookahead(int[] tokens, int least) {
    /** It does not matter. */
    public static final Lookahead ANY = new Lookahead(new int[0], 0);

    /** Whether it does not matter. */
    public boolean isAny() {
      return tokens.length == 0;
    }
  }

  /**
   * Copies of blocks were removed from a tier.
   *
   * @param keys engine keys, each one copy
   * @param tier where they were
   * @param group as in {@link Stored}
   */
  record Removed(long[] keys, Tier tier, int group) implements KvEvent {}

  /** The engine removed every block. */
  record Cleared() implements KvEvent {}

  /**
   * Messages from {@code from} on may be missing, so the blocks known of the worker may be wrong until {@link
   * GapClosed}, {@link GapAbandoned} or {@link Restarted}. Also the beginning of a stream whose history was not read
   * yet.
   */
  record Gap(long from) implements KvEvent {}

  /** All missing messages were delivered: the blocks known are right again. */
  record GapClosed() implements KvEvent {}

  /**
   * The messages {@code from} to {@code to} (both included), or parts of them, are lost. The stream continues after
   * them.
   */
  record GapAbandoned(long from, long to) implements KvEvent {}

  /** The engine restarted with an empty cache: blocks known of it are void. */
  record Restarted() implements KvEvent {}

  /**
   * What is known of the worker is void: up to the next {@link GapClosed} or {@link GapAbandoned} come all blocks that
   * it held before the message {@code resume}, and then the messages from there on.
   */
  record Snapshot(long resume) implements KvEvent {}

  /** A snapshot that was asked for is not to be had; what is missing is looked for in the replay. */
  record SnapshotFailed(String why) implements KvEvent {}

  /** The transport connected to the engine, for the first time or again. */
  record Connected() implements KvEvent {}

  /** The transport lost its connection to the engine. */
  record Disconnected() implements KvEvent {}

  /**
   * What a KV cache group is for, and so which of its blocks a prompt needs to go on from a place.
   *
   * @param window tokens that a sliding window sees, the next one included; 0 for other kinds and where it is not given
   */
  record Spec(Kind kind, int window) {
    /** The kind of attention of a group: only full attention makes a prefix. */
    public enum Kind {
      /** Every block back to the beginning. */
      FULL,
      /** The last blocks, as far as the window reaches. */
      SLIDING_WINDOW,
      /** The last block, which has the state of a linear attention or state space. */
      STATE,
      /** No group of the engine's: the last block, stored for prompts that go on alike ({@link Lookahead}). */
      LOOKAHEAD,
      /** Chunks, cross attention and what is not known: no prefix. */
      OTHER,
      /** Not given, as by engines with one group, or named as unknown. */
      UNSPECIFIED
    }

    public static final Spec FULL = new Spec(Kind.FULL, 0);
    public static final Spec SLIDING_WINDOW = new Spec(Kind.SLIDING_WINDOW, 0);
    public static final Spec STATE = new Spec(Kind.STATE, 0);
    public static final Spec LOOKAHEAD = new Spec(Kind.LOOKAHEAD, 0);
    public static final Spec OTHER = new Spec(Kind.OTHER, 0);
    public static final Spec UNSPECIFIED = new Spec(Kind.UNSPECIFIED, 0);

    /** The same with its window, if it is a sliding one. */
    Spec withWindow(int tokens) {
      return kind == Kind.SLIDING_WINDOW ? new Spec(kind, tokens) : this;
    }
  }
}
