package io.kvasir.cell.events;

import io.kvasir.events.KvEvent.Spec;
import io.kvasir.index.BlockHash;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;

/**
 * A change of a hybrid model's {@link CacheGroups}, which has all that it takes to make the same change elsewhere,
 * whatever is known of the prefix there. The arrays are nobody's to change.
 */
public sealed interface GroupChange {
  /**
   * There are groups from now on, of which nothing is held.
   *
   * @param prefixBlockSize tokens in a block of the group that makes the prefix
   */
  record Begun(int prefixBlockSize) implements GroupChange {}

  /**
   * Blocks were stored.
   *
   * @param least tokens that have to follow on a block in a prompt that shares it, of which the first is a part of its
   *     name; 0 where it does not matter how prompts go on
   * @param blockSize tokens in one of them
   * @param sparse whether the engine has shown that it leaves blocks out
   * @param hashes by what each block is known: the chain hash of its key's prefix block, {@link BlockHash#NONE} while
   *     that is not there, with the token that follows where it matters
   * @param counted whether a copy more is there of those that are there already
   */
  record Stored(
      int group, Spec spec, int least, int blockSize, boolean sparse, long[] keys, long[] hashes, boolean counted)
      implements GroupChange {}

  /** The prefix blocks of these keys, which waited for them, were stored; the hashes are as in {@link Stored}. */
  record Placed(long[] keys, long[] hashes) implements GroupChange {}

  /** A copy of each was removed, or all where they are not {@code counted}. */
  record Removed(int group, long[] keys, boolean counted) implements GroupChange {}

  /** Nothing is known of groups any more. */
  record Cleared() implements GroupChange {}

  /** The same as changes of {@code most} blocks at most, to be made one after the other. */
  default List<GroupChange> parts(int most) {
    return switch (this) {
      case Begun _, Cleared _ -> List.of(this);
      case Stored stored ->
          parts(
              stored.keys.length, most,
              (from, to) -> new Stored(
                  stored.group, stored.spec, stored.least, stored.blockSize, stored.sparse,
                  Arrays.copyOfRange(stored.keys, from, to), Arrays.copyOfRange(stored.hashes, from, to),
                  stored.counted));
      case Placed placed ->
          parts(
              placed.keys.length, most,
              (from, to) -> new Placed(
                  Arrays.copyOfRange(placed.keys, from, to), Arrays.copyOfRange(placed.hashes, from, to)));
      case Removed removed ->
          parts(
              removed.keys.length, most,
              (from, to) ->
                  new Removed(removed.group, Arrays.copyOfRange(removed.keys, from, to), removed.counted));
    };
  }

  private List<GroupChange> parts(int count, int most, BiFunction<Integer, Integer, GroupChange> part) {
    if (count <= most) {
      return List.of(this);
    }
    List<GroupChange> parts = new ArrayList<>();
    for (int from = 0; from < count; from += most) {
      parts.add(part.apply(from, Math.min(count, from + most)));
    }
    return parts;
  }
}
