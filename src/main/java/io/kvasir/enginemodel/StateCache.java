package io.kvasir.enginemodel;

import org.agrona.collections.LongHashSet;

/**
 * That of layers with a state: a block holds the state at its end, or where the sequence is, as {@code MambaManager}
 * has it in mode {@code align}. An iteration leaves one state, so those of prompts end where one is to be kept
 * ({@code Scheduler._mamba_block_aligned_split}).
 */
final class StateCache extends GroupCache {
  /** States of the iteration that is being planned: they are there after it. */
  private final LongHashSet beingMade = new LongHashSet();

  StateCache(int number, int blockSize, BlockPool pool, GroupListener listener) {
    super(number, blockSize, 1, pool, listener);
  }

  @Override
  void beginStep() {
    beingMade.clear();
  }

  @Override
  void cached(long key) {
    beingMade.add(key);
  }

  @Override
  boolean isBeingMade(Sequence sequence, int hits) {
    return hits > 0 && beingMade.contains(sequence.key(hits - 1));
  }

  @Override
  int unseen(int tokens) {
    return Math.max(0, tokens - 1) / blockSize;
  }

  @Override
  int more(int required, int held) {
    return required > held ? 1 : 0;
  }

  @Override
  void extend(HeldBlocks held, int required) {
    held.pad(required - 1);
    take(1, held);
  }

  @Override
  int chunk(Sequence sequence, int computed, int most, int budget) {
    int prefillEnd = Math.max(sequence.promptLength(), sequence.length() - 1);
    if (computed >= prefillEnd) {
      return most;
    }
    int end = computed + most;
    if (end < prefillEnd) {
      int aligned = end / blockSize * blockSize;
      if (aligned > computed || blockSize <= budget) {
        end = aligned;
      }
    }
    if (computed % blockSize != 0) {
      end = stop(computed, end, (computed / blockSize + 1) * blockSize);
    }
    end = stop(computed, end, (sequence.length() - 1) / blockSize * blockSize);
    end = stop(computed, end, sequence.sharedBlocks * blockSize);
    return Math.max(0, end - computed);
  }

  /** The end of an iteration, or a place before it where it has to stop. */
  private static int stop(int start, int end, int place) {
    return start < place && place < end ? place : end;
  }
}
