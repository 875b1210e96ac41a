package io.kvasir.cell.standby;

import io.kvasir.cell.events.AppliedPosition;
import io.kvasir.cell.events.CacheGroups;
import io.kvasir.cell.events.EventCheckpoint;
import io.kvasir.cell.events.EventSalts;
import io.kvasir.cell.events.GroupChange;
import io.kvasir.events.StreamPosition;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Holdings;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a cell's copy has of one worker: its blocks, and what it takes to go on with its events. Reads what
 * {@link ReplicaWriter} and {@link GroupChangeCodec} wrote. A batch of events takes effect as a whole, so that
 * the position is always exactly what is there. One thread at a time.
 */
public final class ReplicatedWorker {
  private static final Tier[] TIERS = Tier.values();

  private final int slot;
  private final int capacityBlocks;
  private final long stream;
  private final WorkerBlocks blocks;
  private final EventSalts salts = new EventSalts();
  private final List<ReplicaFrame> unfinished = new ArrayList<>();
  private @Nullable CacheGroups groups;
  private AppliedPosition position = AppliedPosition.START;
  private long next;
  private boolean complete;

  /**
   * Nothing has come yet.
   *
   * @param stream which telling of the worker this follows
   * @param blocks empty
   */
  ReplicatedWorker(int slot, int capacityBlocks, long stream, WorkerBlocks blocks) {
    this.slot = slot;
    this.capacityBlocks = capacityBlocks;
    this.stream = stream;
    this.blocks = blocks;
  }

  /** Its slot in the copy, as at its home. */
  public int slot() {
    return slot;
  }

  int capacityBlocks() {
    return capacityBlocks;
  }

  long stream() {
    return stream;
  }

  /** Number of the frame that is to come next. */
  long next() {
    return next;
  }

  /** What has come so far. */
  public WorkerBlocks blocks() {
    return blocks;
  }

  /** Whether it has a whole snapshot, so that it can be used. */
  boolean isComplete() {
    return complete;
  }

  /** What a home goes on with. */
  public EventCheckpoint checkpoint() {
    return new EventCheckpoint(salts, groups, position);
  }

  /** Takes the next frame. */
  void receive(ReplicaFrame frame) {
    next++;
    if (!frame.finishes()) {
      unfinished.add(frame);
      return;
    }
    unfinished.forEach(this::apply);
    unfinished.clear();
    apply(frame);
  }

  private void apply(ReplicaFrame frame) {
    apply(ByteBuffer.wrap(frame.payload()));
    byte[] changes = frame.groups();
    if (changes != null) {
      applyToGroups(ByteBuffer.wrap(changes));
    }
  }

  private void applyToGroups(ByteBuffer in) {
    while (in.hasRemaining()) {
      GroupChange change = GroupChangeCodec.read(in);
      CacheGroups known = groups;
      switch (change) {
        case GroupChange.Begun(int prefixBlockSize) -> groups = new CacheGroups(prefixBlockSize);
        case GroupChange.Cleared _ -> groups = null;
        case GroupChange.Stored _, GroupChange.Placed _, GroupChange.Removed _ -> {
          if (known != null) {
            known.apply(change);
          }
        }
      }
    }
  }

  private void apply(ByteBuffer in) {
    while (in.hasRemaining()) {
      byte change = in.get();
      switch (change) {
        case ReplicaWriter.BEGIN -> clear();
        case ReplicaWriter.PART -> {
          int _ =
              blocks.take(
                  new Holdings.Blocks(longs(in), ints(in), ints(in), longs(in), longs(in), ints(in), ints(in)));
        }
        case ReplicaWriter.SALT -> {
          String salt = text(in);
          long[] keys = longs(in);
          salts.put(keys, keys.length, salt);
        }
        case ReplicaWriter.COMPLETE -> complete = true;
        case ReplicaWriter.STORED -> store(in);
        case ReplicaWriter.COPIED -> {
          Tier tier = TIERS[in.get()];
          boolean counted = flag(in);
          int _ = blocks.copy(longs(in), tier, counted);
        }
        case ReplicaWriter.REMOVED -> {
          Tier tier = TIERS[in.get()];
          boolean counted = flag(in);
          long[] keys = longs(in);
          blocks.remove(keys, keys.length, tier, counted);
          salts.removed(keys, blocks);
        }
        case ReplicaWriter.CLEARED -> {
          blocks.clear();
          salts.clear();
        }
        case ReplicaWriter.POSITION -> position = position(in);
        default -> throw new IllegalArgumentException("a change of an unknown kind: " + change);
      }
    }
  }

  private void clear() {
    blocks.clear();
    salts.clear();
    groups = null;
    position = AppliedPosition.START;
    complete = false;
  }

  /** What follows a block that the budget had no room for here is left out. */
  private void store(ByteBuffer in) {
    boolean root = flag(in);
    long parentKey = in.getLong();
    Tier tier = TIERS[in.get()];
    boolean counted = flag(in);
    @Nullable String salt = flag(in) ? text(in) : null;
    long[] keys = longs(in);
    long[] hashes = longs(in);
    if (root || blocks.hashOf(parentKey) != BlockHash.NONE) {
      int registered = blocks.store(parentKey, root, keys, hashes, keys.length, tier, counted);
      salts.stored(keys, registered, salt);
    }
  }

  private static AppliedPosition position(ByteBuffer in) {
    StreamPosition stream = new StreamPosition(in.getLong(), in.getLong());
    int blockSize = in.getInt();
    int prefixGroup = in.getInt();
    byte flags = in.get();
    return new AppliedPosition(
        stream, blockSize, prefixGroup, (flags & ReplicaWriter.LOST) != 0, (flags & ReplicaWriter.HYBRID) != 0,
        (flags & ReplicaWriter.ONCE_COMPUTED) != 0, (flags & ReplicaWriter.CUT) != 0);
  }

  private static boolean flag(ByteBuffer in) {
    return in.get() != 0;
  }

  private static String text(ByteBuffer in) {
    byte[] utf = new byte[in.getInt()];
    in.get(utf);
    return new String(utf, StandardCharsets.UTF_8);
  }

  private static long[] longs(ByteBuffer in) {
    long[] values = new long[in.getInt()];
    in.asLongBuffer().get(values);
    in.position(in.position() + values.length * Long.BYTES);
    return values;
  }

  private static int[] ints(ByteBuffer in) {
    int[] values = new int[in.getInt()];
    in.asIntBuffer().get(values);
    in.position(in.position() + values.length * Integer.BYTES);
    return values;
  }
}
