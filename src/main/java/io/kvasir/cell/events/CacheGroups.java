package io.kvasir.cell.events;

import io.kvasir.events.KvEvent.Lookahead;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The KV cache groups of a hybrid model's engine beside the one that makes the prefix: layers with a sliding window or
 * a state need, to go on from a place in a prompt, the blocks before it that they see, and evict theirs on their own.
 * So an engine finds the longest beginning of a prompt whose prefix it holds and at whose end every group has what it
 * needs, as vLLM's {@code HybridKVCacheCoordinator} does.
 *
 * <p>Engines that share a block only among prompts that go on alike hold it under a name for each way to go on: what is
 * known of these names is kept as a group's blocks are, {@link #LOOKAHEAD}, and needed at the end of the prefix alone.
 *
 * <p>Which blocks a group keeps of a prompt that is being computed is up to the engine. vLLM keeps, by default, only
 * those at the end of the prompt and where it parts from what the prefix has of others, and none of the answer: as soon
 * as an event shows that blocks were left out, only such {@linkplain #predict places} of prompts that are on their way
 * are predicted, else all of their blocks.
 *
 * <p>One thread at a time applies events; any thread asks, wait-free, and predicts.
 */
public final class CacheGroups {
  /** Groups that are followed; models have up to a dozen. */
  private static final int MAX_GROUPS = 32;

  /** Places that are predicted at a time, and blocks that groups need for them; the oldest go first. */
  private static final int MAX_ENDS = 4096;

  private static final int MAX_EXPECTED = 1 << 18;

  /** Blocks of the prompts that are kept for that, 8 MiB: one of a million tokens has 65,536. */
  private static final int MAX_KEPT = 1 << 20;

  /** The number of what is no group of the engine's: the blocks by how prompts go on after them. */
  static final int LOOKAHEAD = -2;

  private final int prefixBlockSize;
  private volatile GroupBlocks[] groups = new GroupBlocks[0];
  private int[] numbers = new int[0];
  private volatile boolean sparse;

  /** What is predicted, oldest first. It guards what follows, and what groups expect. */
  private final ArrayDeque<PredictedEnd> ends = new ArrayDeque<>();

  private final BlockSet endHashes = new BlockSet(Integer.MAX_VALUE);
  private int expectedBlocks;
  private int keptBlocks;
  private volatile boolean anyExpected;

  /**
   * No groups yet.
   *
   * @param prefixBlockSize tokens in a block of the group that makes the prefix
   */
  public CacheGroups(int prefixBlockSize) {
    this.prefixBlockSize = prefixBlockSize;
  }

  /** A place in a prompt that is on its way: the groups will have what they need to go on from there. */
  public final class PredictedEnd {
    private final int end;
    private final long expiry;
    private Chain prompt;

    private PredictedEnd(Chain prompt, int end, long expiry) {
      this.prompt = prompt;
      this.end = end;
      this.expiry = expiry;
    }

    private boolean isOver() {
      return prompt.length() == 0;
    }

    private long hash() {
      return prompt.hashes()[end - 1];
    }

    private long withLookahead() {
      return prompt.withLookahead(end - 1, 1);
    }

    private boolean is(long hash) {
      return !isOver() && (hash() == hash || withLookahead() == hash);
    }

    /** The prompt will not be computed. Any thread; idempotent. */
    public void retract() {
      synchronized (ends) {
        end(this);
      }
    }
  }

  /**
   * What it means here that blocks of a group are stored; null when the group is not followed.
   *
   * @param hashOf the chain hash of a key's prefix block, 0 if it is not there yet
   */
  GroupChange.@Nullable Stored stored(Stored stored, LongUnaryOperator hashOf, boolean counted) {
    if (!GroupBlocks.follows(stored.spec(), stored.blockSize(), prefixBlockSize)) {
      return null;
    }
    GroupBlocks group = group(stored.group());
    if (group == null && groups.length == MAX_GROUPS) {
      return null;
    }
    long[] keys = stored.keys();
    long[] hashes = new long[keys.length];
    for (int i = 0; i < keys.length; i++) {
      long known = group == null ? BlockHash.NONE : group.hashOf(keys[i]);
      hashes[i] = known == BlockHash.NONE ? name(hashOf.applyAsLong(keys[i]), stored.lookahead(), i) : known;
    }
    boolean leftOut = (long) keys.length * stored.blockSize() < stored.tokens().length;
    return new GroupChange.Stored(
        stored.group(), stored.spec(), stored.lookahead().least(), stored.blockSize(), sparse || leftOut, keys, hashes,
        counted);
  }

  /**
   * By what the first {@code count} of these prefix blocks are known here: their hashes, with the token that follows
   * where it matters.
   */
  static long[] names(Stored stored, long[] hashes, int count) {
    if (stored.lookahead().isAny()) {
      return hashes;
    }
    long[] names = new long[count];
    for (int i = 0; i < count; i++) {
      names[i] = name(hashes[i], stored.lookahead(), i);
    }
    return names;
  }

  private static long name(long hash, Lookahead lookahead, int block) {
    return lookahead.isAny() || hash == BlockHash.NONE
        ? hash
        : BlockHash.withLookahead(hash, BlockHash.fold(lookahead.tokens()[block]));
  }

  /** What it means here that prefix blocks of these names are shared by prompts that go on alike. */
  GroupChange.Stored storedWithLookahead(Stored stored, long[] names, boolean counted) {
    return new GroupChange.Stored(
        LOOKAHEAD, Spec.LOOKAHEAD, stored.lookahead().least(), stored.blockSize(), sparse,
        Arrays.copyOf(stored.keys(), names.length), names, counted);
  }

  /**
   * What it means here that the first {@code count} of these prefix blocks are; null if none was waited for.
   *
   * @param hashes as of {@link #names}
   */
  GroupChange.@Nullable Placed placed(long[] keys, long[] hashes, int count) {
    long[] placedKeys = {};
    long[] placedHashes = {};
    int placed = 0;
    for (int i = 0; i < count && anyWaits(); i++) {
      if (waits(keys[i])) {
        if (placed == placedKeys.length) {
          placedKeys = Arrays.copyOf(placedKeys, count);
          placedHashes = Arrays.copyOf(placedHashes, count);
        }
        placedKeys[placed] = keys[i];
        placedHashes[placed++] = hashes[i];
      }
    }
    return placed == 0
        ? null
        : new GroupChange.Placed(Arrays.copyOf(placedKeys, placed), Arrays.copyOf(placedHashes, placed));
  }

  private boolean anyWaits() {
    boolean any = false;
    for (GroupBlocks group : groups) {
      any |= group.anyWaits();
    }
    return any;
  }

  private boolean waits(long key) {
    boolean waits = false;
    for (GroupBlocks group : groups) {
      waits |= group.waits(key);
    }
    return waits;
  }

  /** Makes a change of what is held. */
  public void apply(GroupChange change) {
    switch (change) {
      case GroupChange.Stored stored -> {
        sparse |= stored.sparse();
        GroupBlocks group = group(stored.group());
        if (group == null) {
          group = new GroupBlocks(stored.spec(), stored.least(), stored.blockSize(), prefixBlockSize);
          add(stored.group(), group);
        }
        group.stored(stored.keys(), stored.hashes(), stored.counted());
        fulfil(stored.hashes());
      }
      case GroupChange.Placed(long[] keys, long[] hashes) -> {
        for (GroupBlocks group : groups) {
          for (int i = 0; i < keys.length; i++) {
            group.placed(keys[i], hashes[i]);
          }
        }
      }
      case GroupChange.Removed(int number, long[] keys, boolean counted) -> {
        GroupBlocks group = group(number);
        if (group != null) {
          group.removed(keys, counted);
        }
      }
      case GroupChange.Begun _, GroupChange.Cleared _ ->
          throw new IllegalArgumentException("begins other groups: " + change);
    }
  }

  /** What was predicted of blocks that have been stored is over: from now on events say what becomes of them. */
  private void fulfil(long[] hashes) {
    if (!anyExpected) {
      return;
    }
    synchronized (ends) {
      for (long hash : hashes) {
        if (endHashes.contains(hash)) {
          ends.stream().filter(end -> end.is(hash)).forEach(this::end);
        }
      }
    }
  }

  private void add(int number, GroupBlocks group) {
    numbers = Arrays.copyOf(numbers, numbers.length + 1);
    numbers[numbers.length - 1] = number;
    GroupBlocks[] more = Arrays.copyOf(groups, groups.length + 1);
    more[more.length - 1] = group;
    synchronized (ends) {
      for (PredictedEnd end : ends) {
        if (!end.isOver()) {
          group.expect(end.prompt, end.end);
          expectedBlocks += group.expected(end.end);
        }
      }
      groups = more;
    }
  }

  /**
   * The changes that lead from nothing to what is held now, with {@code most} blocks each at most. What is predicted is
   * not among them.
   */
  public void forEachHeld(int most, Consumer<GroupChange> receiver) {
    receiver.accept(new GroupChange.Begun(prefixBlockSize));
    for (int i = 0; i < groups.length; i++) {
      groups[i].forEachHeld(numbers[i], sparse, most, receiver);
    }
  }

  /** Whether a group is followed. */
  boolean has(int number) {
    return group(number) != null;
  }

  private @Nullable GroupBlocks group(int number) {
    for (int i = 0; i < numbers.length; i++) {
      if (numbers[i] == number) {
        return groups[i];
      }
    }
    return null;
  }

  /** Whether it is a hybrid model's engine: it has groups of its own. Any thread. */
  public boolean isHybrid() {
    GroupBlocks[] now = groups;
    return now.length > 1 || (now.length == 1 && !now[0].isLookahead());
  }

  /** Whether the engine shares blocks only among prompts that go on alike. Any thread. */
  public boolean sharesByLookahead() {
    boolean alike = false;
    for (GroupBlocks group : groups) {
      alike |= group.isLookahead();
    }
    return alike;
  }

  /** Whether the engine leaves blocks out, so that it can go on from some places only. Any thread. */
  public boolean isSparse() {
    return sparse;
  }

  /**
   * The longest beginning of a prompt from whose end the engine can go on, by its events. Any thread.
   *
   * @param depth leading blocks of which the prefix is held
   * @param reported of these, those that events have confirmed; the rest is predicted
   */
  public int confirmed(Chain prompt, int depth, int reported) {
    return agreed(prompt, depth, reported, false);
  }

  /** As {@link #confirmed}, and by what is predicted. Any thread. */
  public int resumable(Chain prompt, int depth, int reported) {
    return agreed(prompt, depth, reported, anyExpected);
  }

  private int agreed(Chain prompt, int depth, int reported, boolean withExpected) {
    GroupBlocks[] now = groups;
    int assumed = sparse ? Integer.MAX_VALUE : reported;
    int boundary = depth;
    int agreed = 0;
    // Each group may shorten it, until all agree.
    for (int i = 0; agreed < now.length; i = (i + 1) % now.length) {
      int shorter = now[i].boundary(prompt, boundary, assumed, withExpected);
      agreed = shorter == boundary ? agreed + 1 : 1;
      boundary = shorter;
    }
    return boundary;
  }

  /**
   * Predicts that the engine will be able to go on from a place in a prompt that is being sent there: every group will
   * have the blocks before it that it needs. Any thread.
   *
   * @param end blocks before that place, at least 1
   * @param expiry when that is no longer believed without an event, on the clock of {@link #expire}
   */
  public PredictedEnd predict(Chain prompt, int end, long expiry) {
    PredictedEnd predicted = new PredictedEnd(prompt, end, expiry);
    synchronized (ends) {
      int more = 0;
      for (GroupBlocks group : groups) {
        more += group.expected(end);
      }
      while (!ends.isEmpty()
          && (ends.size() == MAX_ENDS
              || expectedBlocks + more > MAX_EXPECTED
              || keptBlocks + prompt.length() > MAX_KEPT)) {
        end(ends.removeFirst());
      }
      ends.addLast(predicted);
      endHashes.add(predicted.hash(), true);
      if (predicted.withLookahead() != BlockHash.NONE) {
        endHashes.add(predicted.withLookahead(), true);
      }
      for (GroupBlocks group : groups) {
        group.expect(prompt, end);
      }
      expectedBlocks += more;
      keptBlocks += prompt.length();
      anyExpected = true;
    }
    return predicted;
  }

  /** Forgets what was predicted and has not come by {@code now}. */
  public void expire(long now) {
    synchronized (ends) {
      while (!ends.isEmpty() && (ends.getFirst().isOver() || ends.getFirst().expiry <= now)) {
        end(ends.removeFirst());
      }
    }
  }

  private void end(PredictedEnd end) {
    if (!end.isOver()) {
      boolean _ = endHashes.remove(end.hash(), true);
      boolean _ = end.withLookahead() != BlockHash.NONE && endHashes.remove(end.withLookahead(), true);
      for (GroupBlocks group : groups) {
        group.expectNoMore(end.prompt, end.end);
        expectedBlocks -= group.expected(end.end);
      }
      keptBlocks -= end.prompt.length();
      end.prompt = Chain.EMPTY;
      anyExpected = endHashes.size() > 0;
    }
  }
}
