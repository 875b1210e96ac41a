package io.kvasir.cell.events;

import io.kvasir.cell.events.EventOrphans.Orphan;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Applies a worker's events to the index.
 *
 * <p>An event names blocks by keys that mean nothing outside the engine; their content is given by their
 * tokens and by the block they follow. So the chain hash of a new block is made from its parent's, which
 * the index knows by key: {@code key → hash} is all the memory this takes, but for chains under a cache
 * salt ({@link EventSalts}) and for blocks whose parent is not there ({@link EventOrphans}).
 *
 * <p>Only whole blocks of the group that makes a prefix are indexed, and a hybrid model's other groups are {@link
 * CacheGroups} beside it; everything else is left out and counted. In doubt a block is left out: a missed hit costs
 * time, a false one sends requests astray.
 *
 * <p>One thread at a time applies; any thread may read {@link #state}. No clock, no I/O.
 */
public final class EventApplier {
  private WorkerBlocks blocks;
  private final BlockChangeListener changes;
  private final EventSalts salts;
  private final EventOrphans orphans = new EventOrphans();
  private final ArrayDeque<Orphan> ready = new ArrayDeque<>();
  private final EventHashing hashing = new EventHashing();

  /** What a connector has stored in chunks of its own; null while none has shown itself. */
  private volatile @Nullable ChunkHints hints;

  private final EngineBlocks sizes;
  private final ModelGroups groups;
  private final StreamTracker stream;
  private final EventCounts counts = new EventCounts();
  /** Whether the engine shares blocks only once it has computed them. */
  private boolean onceComputed;

  private long[] hashes = new long[64];
  private volatile EventState state = EventState.START;

  /**
   * Applies to an empty worker's blocks.
   *
   * @param blockSize tokens in a block as the worker is configured
   */
  public EventApplier(WorkerBlocks blocks, int blockSize) {
    this(blocks, blockSize, BlockChangeListener.NONE);
  }

  /**
   * Applies to an empty worker's blocks, too.
   *
   * @param changes receives what becomes of them
   */
  public EventApplier(WorkerBlocks blocks, int blockSize, BlockChangeListener changes) {
    this(blocks, blockSize, changes, new EventCheckpoint(new EventSalts(), null, AppliedPosition.START));
  }

  /** Goes on with blocks to which another has applied events. */
  public EventApplier(WorkerBlocks blocks, int blockSize, BlockChangeListener changes, EventCheckpoint checkpoint) {
    this.blocks = blocks;
    this.changes = changes;
    this.salts = checkpoint.salts();
    AppliedPosition position = checkpoint.position();
    this.sizes = position.blockSize() == 0 ? new EngineBlocks(blockSize) : EngineBlocks.of(position.blockSize());
    this.groups = new ModelGroups(sizes, changes, position.prefixGroup(), checkpoint.groups());
    this.stream = new StreamTracker(position.stream(), position.lost());
    this.onceComputed = position.onceComputed();
    settle(0);
  }

  /** Goes on with blocks that hold the same in another index. */
  public void moveTo(WorkerBlocks successor) {
    blocks = successor;
  }

  /** How far it is. */
  public AppliedPosition position() {
    return new AppliedPosition(
        stream.position(), sizes.seenSize(), groups.prefix(), stream.isLost(), groups.others() != null, onceComputed,
        sizes.parts() > 1);
  }

  /** The cache salts of what is there, to be read only. */
  public EventSalts salts() {
    return salts;
  }

  /** The chunks that a cache beside the engine may hold, null when none was reported. Any thread. */
  public @Nullable ChunkHints hints() {
    return hints;
  }

  /** What a hybrid model's other groups hold, null while none has shown itself. Any thread. */
  public @Nullable CacheGroups groups() {
    return groups.others();
  }

  /** As of the last batch applied. Any thread. */
  public EventState state() {
    return state;
  }

  /**
   * Applies a batch.
   *
   * @param now the time that {@link EventState#suspectSince} is measured in, at least 0
   */
  public void apply(KvBatch batch, long now) {
    // A numbered stream reports every copy; in others an event may come twice.
    boolean counted = batch.sequence() != KvBatch.UNSEQUENCED;
    for (KvEvent event : batch.events()) {
      switch (event) {
        case Stored stored -> store(stored, counted);
        case Removed removed -> remove(removed, counted);
        case KvEvent.Cleared _, KvEvent.Snapshot _ -> {
          clear();
          stream.begunAnew();
        }
        case KvEvent.Gap _ -> stream.gapOpened();
        case KvEvent.GapClosed _ -> stream.gapClosed();
        case KvEvent.GapAbandoned _ -> stream.gapAbandoned();
        case KvEvent.Restarted _ -> restart();
        case KvEvent.SnapshotFailed _ -> {}
        case KvEvent.Connected _ -> stream.connected(true);
        case KvEvent.Disconnected _ -> stream.connected(false);
      }
    }
    if (counted) {
      stream.advance(batch);
    }
    settle(now);
  }

  /**
   * Has the blocks that come cut into smaller ones, where their size is a multiple of theirs. Those of hybrid models
   * and of engines that share them only among prompts that go on alike stay as they are.
   *
   * @param promptBlock tokens in a block into which prompts are cut
   * @return whether what has come until now is cut otherwise: it is of no use then, {@link #reset}
   */
  public boolean cutInto(int promptBlock) {
    return sizes.cutInto(promptBlock);
  }

  /** Forgets everything, as if nothing had been applied yet; what has been counted stays. */
  public void reset() {
    restart();
    stream.connected(false);
    settle(0);
  }

  private void settle(long now) {
    stream.settle(now);
    state =
        new EventState(
            stream.position().sequence(),
            stream.suspectSince(),
            stream.isConnected(),
            sizes.seenSize(),
            sizes.parts(),
            onceComputed,
            orphans.size(),
            counts.applied,
            counts.evicted,
            counts.restored,
            counts.refused,
            counts.ignored());
  }

  private void restart() {
    clear();
    hints = null;
    stream.restart();
    sizes.restart();
    groups.restart();
  }

  /** An engine that cleared its cache may have kept other tiers; the event does not have that, so none is assumed. */
  private void clear() {
    blocks.clear();
    changes.cleared();
    salts.clear();
    orphans.clear();
    groups.clear();
  }

  private void store(Stored stored, boolean counted) {
    // Stores of adapters look alike, whatever the engine.
    onceComputed = stored.onceComputed() || (onceComputed && stored.lora() != null);
    boolean prefix = groups.makesPrefix(stored);
    if ((!prefix || !stored.lookahead().isAny()) && sizes.leaveWhole()) {
      clear();
    }
    if (!prefix) {
      counts.otherGroup += groups.store(stored, blocks::hashOf, counted) ? 0 : 1;
      return;
    }
    if (stored.tokens().length == 0) {
      copy(stored.keys(), stored.tier(), counted);
      return;
    }
    if (stored.keys().length == 0 || !isWhole(stored)) {
      return;
    }
    long parent = BlockHash.NONE;
    if (!stored.root()) {
      parent = blocks.hashOf(stored.parentKey());
      if (parent == BlockHash.NONE) {
        counts.orphaned += orphans.park(stored, counted);
        return;
      }
    }
    place(stored, parent, counted);
    if (!ready.isEmpty()) {
      placeReady();
    }
  }

  /**
   * A store that says nothing of its blocks but their keys is of blocks that the engine has told of before, such as
   * those that vLLM has copied to host memory; of others nothing is known.
   */
  private void copy(long[] keys, Tier tier, boolean counted) {
    long[] cut = sizes.cut(keys);
    int known = blocks.copy(cut, tier, counted);
    if (known > 0) {
      changes.copied(cut, tier, counted);
      counts.applied++;
    }
    counts.placeholder += known < cut.length ? 1 : 0;
  }

  /** Places the events whose parents have come, and those that waited for them in turn. */
  private void placeReady() {
    List<Orphan> placed = new ArrayList<>();
    List<long[]> removed = new ArrayList<>();
    for (Orphan next = ready.poll(); next != null; next = ready.poll()) {
      long parent = blocks.hashOf(next.stored.parentKey());
      if (parent == BlockHash.NONE) {
        continue; // the budget had no room for its parent
      }
      long[] keys = next.removedKeys();
      Tier tier = next.stored.tier();
      if (!next.counted && keys.length > 0) {
        // In a set, what was stored again after its removal is there.
        keys = Arrays.stream(keys).filter(key -> !blocks.holds(key, tier)).toArray();
      }
      place(next.stored, parent, next.counted);
      placed.add(next);
      removed.add(keys);
    }
    // Not before: others had to find their parents.
    for (int i = 0; i < placed.size(); i++) {
      Orphan one = placed.get(i);
      List<Orphan> later = placed.subList(i + 1, placed.size());
      Tier tier = one.stored.tier();
      long[] keys =
          one.counted
              ? removed.get(i)
              : Arrays.stream(removed.get(i))
                  .filter(key -> later.stream().noneMatch(other -> other.holds(key, tier)))
                  .toArray();
      take(keys, tier, one.counted);
    }
  }

  /** Registers the blocks of an event whose parent is known, and makes the events that wait for them ready. */
  private void place(Stored whole, long parent, boolean counted) {
    Stored stored = sizes.cut(whole);
    int count = stored.keys().length;
    if (hashes.length < count) {
      hashes = new long[Math.max(count, 2 * hashes.length)];
    }
    @Nullable String salt = EventHashing.salt(stored);
    if (salt == null && !stored.root()) {
      salt = salts.of(stored.parentKey());
    }
    hashing.chain(stored, count, parent, salt, hashes);
    int held = blocks.size();
    int registered =
        blocks.store(stored.parentKey(), stored.root(), stored.keys(), hashes, count, stored.tier(), counted);
    changes.stored(
        stored.parentKey(), stored.root(), stored.keys(), hashes, registered, stored.tier(), counted, salt);
    counts.applied++;
    counts.restored += registered - (blocks.size() - held);
    counts.refused += count - registered;
    salts.stored(stored.keys(), registered, salt);
    groups.placed(stored, hashes, registered, counted);
    orphans.take(whole.keys(), registered / sizes.parts(), ready);
  }

  private void remove(Removed removed, boolean counted) {
    if (groups.isOther(removed)) {
      if (groups.remove(removed, counted)) {
        counts.evicted += removed.keys().length;
      } else {
        counts.otherGroup++;
      }
      return;
    }
    counts.applied++;
    Tier tier = removed.tier();
    ChunkHints known = hints;
    if (known != null && tier != Tier.DEVICE) {
      known.removed(removed.keys());
    }
    long[] keys = removed.keys();
    if (!orphans.isEmpty()) {
      // Of several copies one that waits goes first: as many are left either way. Of a set none stays.
      keys = Arrays.stream(keys).filter(key -> !orphans.remove(key, tier, counted) || !counted).toArray();
    }
    take(keys, tier, counted);
  }

  private void take(long[] keys, Tier tier, boolean counted) {
    long[] cut = sizes.cut(keys);
    counts.evicted += blocks.remove(cut, cut.length, tier, counted);
    changes.removed(cut, tier, counted);
    salts.removed(cut, blocks);
    groups.taken(keys, counted);
  }

  private void hint(Stored stored) {
    if (stored.tier() != Tier.DEVICE) {
      ChunkHints known = hints;
      if (known == null) {
        known = new ChunkHints();
        hints = known;
      }
      known.stored(stored, sizes.partSize());
    }
  }

  /** Whether the event has the tokens of whole blocks of the worker's size. */
  private boolean isWhole(Stored stored) {
    return switch (sizes.fit(stored)) {
      case WHOLE -> true;
      case PROOF -> {
        groups.clear();
        yield true;
      }
      case PLACEHOLDER -> {
        counts.placeholder++;
        yield false;
      }
      case UNASSIGNABLE -> {
        counts.unassignable++;
        yield false;
      }
      case PARTIAL -> {
        counts.partial++;
        yield false;
      }
      case OTHER -> {
        counts.otherBlockSize++;
        hint(stored);
        yield false;
      }
    };
  }
}
