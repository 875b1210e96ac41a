package io.kvasir.cell.events;

import io.kvasir.events.KvEvent.Spec;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import java.util.function.Consumer;
import org.agrona.collections.Long2LongHashMap;
import org.agrona.collections.LongArrayList;

/**
 * What one KV cache group of a hybrid model holds beside the group that makes the prefix. Its blocks have the keys that
 * the prefix's have which end at the same token, so that is how they are known: a key whose prefix block has not been
 * stored yet waits for it.
 *
 * <p>One thread at a time writes; any thread may ask for a {@link #boundary}.
 */
final class GroupBlocks {
  /** The most blocks that are followed, and the most keys that wait: an engine of a terabyte has fewer. */
  private static final int MAX_BLOCKS = 1 << 20;

  /** Blocks of the prefix in one of the group's. */
  private final int size;

  /** Blocks of the prefix between two places from which the group may go on. */
  private final int step;

  /** Blocks of its own before such a place that it needs. */
  private final int needed;

  private final Spec spec;

  /** Tokens that have to follow on a block in a prompt that shares it; 0 where it does not matter how prompts go on. */
  private final int least;

  private final int blockSize;

  private final BlockSet held = new BlockSet();

  /** What is predicted, a copy for each prediction. Its writers take turns, which are others than those of the rest. */
  private final BlockSet expected = new BlockSet(Integer.MAX_VALUE);

  private final Long2LongHashMap hashes = new Long2LongHashMap(BlockHash.NONE);

  /** Keys without a hash, with their copies. */
  private final Long2LongHashMap unplaced = new Long2LongHashMap(0);

  /**
   * An empty group.
   *
   * @param least as of {@link GroupChange.Stored}
   * @param blockSize tokens in its blocks
   * @param prefixBlockSize tokens in the prefix's blocks
   */
  GroupBlocks(Spec spec, int least, int blockSize, int prefixBlockSize) {
    this.spec = spec;
    this.least = least;
    this.blockSize = blockSize;
    this.size = Math.max(1, blockSize / prefixBlockSize);
    // vLLM also keeps states within a block, under the key of the prefix block that ends there.
    this.step = spec.kind() == Spec.Kind.STATE || spec.kind() == Spec.Kind.LOOKAHEAD ? 1 : size;
    this.needed =
        switch (spec.kind()) {
          // The next token is the first of those that the window sees.
          case SLIDING_WINDOW -> Math.max(1, Math.ceilDiv(spec.window() - 1, blockSize));
          case STATE, LOOKAHEAD -> 1;
          case FULL -> Integer.MAX_VALUE;
          case OTHER, UNSPECIFIED -> throw new IllegalArgumentException(spec + " needs no blocks that are known");
        };
  }

  /** Whether a group can be followed: what it needs is known, and its blocks end where the prefix's do. */
  static boolean follows(Spec spec, int blockSize, int prefixBlockSize) {
    return switch (spec.kind()) {
      case SLIDING_WINDOW -> spec.window() > 0 && isMultiple(blockSize, prefixBlockSize);
      case FULL -> isMultiple(blockSize, prefixBlockSize);
      case STATE, LOOKAHEAD -> blockSize > 0 && prefixBlockSize > 0;
      case OTHER, UNSPECIFIED -> false;
    };
  }

  private static boolean isMultiple(int blockSize, int prefixBlockSize) {
    return prefixBlockSize > 0 && blockSize > 0 && blockSize % prefixBlockSize == 0;
  }

  /**
   * Blocks were stored.
   *
   * @param chain by what each is known, {@link BlockHash#NONE} if its prefix block is not there yet
   * @param counted as of {@link BlockSet#add}
   */
  void stored(long[] keys, long[] chain, boolean counted) {
    for (int i = 0; i < keys.length; i++) {
      long key = keys[i];
      long hash = chain[i];
      if (hash == BlockHash.NONE) {
        if (unplaced.size() < MAX_BLOCKS) {
          unplaced.put(key, counted ? Math.min(BlockSet.MAX_COPIES, unplaced.get(key) + 1) : 1);
        }
      } else {
        add(key, hash, 1, counted);
      }
    }
  }

  /** By what a key's block is known, {@link BlockHash#NONE} of what is not held. */
  long hashOf(long key) {
    return hashes.get(key);
  }

  /** Whether it is no group of the engine's, but the prefix's blocks by how prompts go on after them. */
  boolean isLookahead() {
    return spec.kind() == Spec.Kind.LOOKAHEAD;
  }

  boolean anyWaits() {
    return !unplaced.isEmpty();
  }

  boolean waits(long key) {
    return unplaced.containsKey(key);
  }

  /** Every copy of every block, as stores of {@code most} at most. */
  void forEachHeld(int number, boolean sparse, int most, Consumer<GroupChange> receiver) {
    LongArrayList keys = new LongArrayList();
    LongArrayList chain = new LongArrayList();
    Runnable pass = () -> {
      receiver.accept(
          new GroupChange.Stored(
              number, spec, least, blockSize, sparse, keys.toLongArray(), chain.toLongArray(), true));
      keys.clear();
      chain.clear();
    };
    hashes.forEachLong((key, hash) -> forEachCopy(key, hash, held.copies(hash), keys, chain, most, pass));
    unplaced.forEachLong((key, copies) -> forEachCopy(key, BlockHash.NONE, copies, keys, chain, most, pass));
    // Also without a block: a group of which nothing is held limits, too.
    pass.run();
  }

  private static void forEachCopy(
      long key, long hash, long copies, LongArrayList keys, LongArrayList chain, int most, Runnable pass) {
    for (long copy = 0; copy < copies; copy++) {
      keys.addLong(key);
      chain.addLong(hash);
      if (keys.size() == most) {
        pass.run();
      }
    }
  }

  /** A prefix block was stored, for which a key may have waited. */
  void placed(long key, long hash) {
    if (!unplaced.isEmpty()) {
      add(key, hash, unplaced.remove(key), true);
    }
  }

  private void add(long key, long hash, long copies, boolean counted) {
    if (held.size() < MAX_BLOCKS) {
      for (long copy = 0; copy < copies; copy++) {
        hashes.put(key, hash);
        held.add(hash, counted);
      }
    }
  }

  /** A copy of each was removed, or all where they are not counted. */
  void removed(long[] keys, boolean counted) {
    for (long key : keys) {
      long hash = hashes.get(key);
      if (hash != BlockHash.NONE) {
        if (held.remove(hash, counted)) {
          hashes.remove(key);
        }
      } else {
        long waiting = unplaced.remove(key);
        if (counted && waiting > 1) {
          unplaced.put(key, waiting - 1);
        }
      }
    }
  }

  /**
   * Blocks before an end of a prompt that it will hold when the prompt is computed up to there, as far as that matters:
   * those that it needs to go on from there, or from anywhere before where it keeps all.
   */
  int expected(int end) {
    return isLookahead() ? end : Math.min(needed, end / step);
  }

  /** Predicts that a prompt will be computed up to an end. */
  void expect(Chain prompt, int end) {
    int last = end / step;
    for (int block = last - expected(end); block < last; block++) {
      long hash = name(prompt, (block + 1) * step - 1, 1);
      if (hash != BlockHash.NONE) {
        expected.add(hash, true);
      }
    }
  }

  /** That is over. */
  void expectNoMore(Chain prompt, int end) {
    int last = end / step;
    for (int block = last - expected(end); block < last; block++) {
      long hash = name(prompt, (block + 1) * step - 1, 1);
      boolean _ = hash != BlockHash.NONE && expected.remove(hash, true);
    }
  }

  /**
   * The longest beginning of a prompt from whose end the group can go on. Wait-free, without allocation.
   *
   * @param most its length at most, in blocks
   * @param assumed blocks from this one on count as held, but for those by how prompts go on
   * @param withExpected whether what is predicted counts, too
   */
  int boundary(Chain prompt, int most, int assumed, boolean withExpected) {
    int end = most / step;
    while (end > 0) {
      int from = Math.max(0, end - needed);
      int missing = from;
      while (missing < end && isHeld(prompt, missing, assumed, withExpected)) {
        missing++;
      }
      if (missing == end) {
        break;
      }
      // Every end behind the missing block, up to this one, needs it as well.
      end = missing;
    }
    return end * step;
  }

  private boolean isHeld(Chain prompt, int block, int assumed, boolean withExpected) {
    int end = (block + 1) * step;
    if (least > 0 && prompt.lookahead() == null) {
      return true;
    }
    long hash = name(prompt, end - 1, least);
    return hash != BlockHash.NONE && isHeld(hash, end, assumed, withExpected);
  }

  private boolean isHeld(long hash, int end, int assumed, boolean withExpected) {
    return (end > assumed && end % size == 0 && least == 0)
        || held.contains(hash)
        || (withExpected && expected.contains(hash));
  }

  /**
   * By what the group knows a block of a prompt; {@link BlockHash#NONE} of one that it cannot hold.
   *
   * @param following tokens that have to follow, where it matters how prompts go on
   */
  private long name(Chain prompt, int block, int following) {
    return least > 0 ? prompt.withLookahead(block, following) : prompt.hashes()[block];
  }
}
