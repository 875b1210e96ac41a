package io.kvasir.cell.events;

import io.kvasir.cell.events.EventOrphans.Orphan;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.events.StreamPosition;
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

  /** The groups beside the prefix's; null while none has shown itself. */
  private volatile @Nullable CacheGroups groups;

  private long[] hashes = new long[64];

  private final EngineBlocks sizes;

  /** The hybrid model's group that makes the prefix, once one has shown itself. */
  private int prefixGroup = KvEvent.UNSPECIFIED;

  /** Messages may be missing and may still come. */
  private boolean gap;
  /** Messages are missing and will not come. */
  private boolean lost;

  private long lastSequence = KvBatch.UNSEQUENCED;
  private long lastPublished;
  private long suspectSince = EventState.CERTAIN;
  private boolean connected;
  /** Whether the engine shares blocks only once it has computed them. */
  private boolean onceComputed;
  private long applied;
  private long evicted;
  private long restored;
  private long refused;
  private long otherGroup;
  private long partial;
  private long placeholder;
  private long unassignable;
  private long otherBlockSize;
  private long orphaned;
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
    this.blocks = blocks;
    this.changes = changes;
    this.salts = new EventSalts();
    this.sizes = new EngineBlocks(blockSize);
  }

  /** Goes on with blocks to which another has applied events. */
  public EventApplier(WorkerBlocks blocks, int blockSize, BlockChangeListener changes, EventSeed seed) {
    this.blocks = blocks;
    this.changes = changes;
    this.salts = seed.salts();
    EventPosition position = seed.position();
    this.sizes = position.blockSize() == 0 ? new EngineBlocks(blockSize) : EngineBlocks.of(position.blockSize());
    this.prefixGroup = position.prefixGroup();
    this.lost = position.lost();
    this.onceComputed = position.onceComputed();
    this.lastSequence = position.stream().sequence();
    this.lastPublished = position.stream().publishedAt();
    this.groups = seed.groups();
    settle(0);
  }

  /** Goes on with blocks that hold the same in another index. */
  public void moveTo(WorkerBlocks successor) {
    blocks = successor;
  }

  /** How far it is. */
  public EventPosition position() {
    return new EventPosition(
        new StreamPosition(lastSequence, lastPublished), sizes.seenSize(), prefixGroup, lost, groups != null,
        onceComputed, sizes.parts() > 1);
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
    return groups;
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
          lost = false;
        }
        case KvEvent.Gap _ -> gap = true;
        case KvEvent.GapClosed _ -> gap = false;
        case KvEvent.GapAbandoned _ -> {
          gap = false;
          lost = true;
        }
        case KvEvent.Restarted _ -> restart();
        case KvEvent.SnapshotFailed _ -> {}
        case KvEvent.Connected _ -> connected = true;
        case KvEvent.Disconnected _ -> connected = false;
      }
    }
    if (counted) {
      lastSequence = batch.sequence();
      lastPublished = batch.publishedAt();
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
    connected = false;
    settle(0);
  }

  private void settle(long now) {
    if (!gap && !lost) {
      suspectSince = EventState.CERTAIN;
    } else if (suspectSince == EventState.CERTAIN) {
      suspectSince = now;
    }
    state =
        new EventState(
            lastSequence,
            suspectSince,
            connected,
            sizes.seenSize(),
            sizes.parts(),
            onceComputed,
            orphans.size(),
            applied,
            evicted,
            restored,
            refused,
            new EventState.Ignored(otherGroup, partial, placeholder, unassignable, otherBlockSize, orphaned));
  }

  private void restart() {
    clear();
    hints = null;
    gap = false;
    lost = false;
    lastSequence = KvBatch.UNSEQUENCED;
    lastPublished = 0;
    sizes.restart();
    prefixGroup = KvEvent.UNSPECIFIED;
  }

  /** An engine that cleared its cache may have kept other tiers; the event does not have that, so none is assumed. */
  private void clear() {
    blocks.clear();
    changes.cleared();
    salts.clear();
    orphans.clear();
    clearGroups();
  }

  private void clearGroups() {
    if (groups != null) {
      groups = null;
      changes.ofGroups(new GroupChange.Cleared());
    }
  }

  private void store(Stored stored, boolean counted) {
    // Stores of adapters look alike, whatever the engine.
    onceComputed = stored.onceComputed() || (onceComputed && stored.lora() != null);
    boolean prefix = isPrefix(stored);
    if ((!prefix || !stored.lookahead().isAny()) && sizes.leaveWhole()) {
      clear();
    }
    if (!prefix) {
      storeOfOtherGroup(stored, counted);
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
        orphaned += orphans.park(stored, counted);
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
      applied++;
    }
    placeholder += known < cut.length ? 1 : 0;
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
    applied++;
    restored += registered - (blocks.size() - held);
    refused += count - registered;
    salts.stored(stored.keys(), registered, salt);
    CacheGroups known = groups;
    long[] names = CacheGroups.names(stored, hashes, registered);
    if (known != null) {
      GroupChange.Placed placed = known.placed(stored.keys(), names, registered);
      if (placed != null) {
        apply(known, placed);
      }
    }
    if (!stored.lookahead().isAny()) {
      CacheGroups alike = groupsOrNew();
      applyFirst(alike, alike.storedWithLookahead(stored, names, counted));
    }
    orphans.take(whole.keys(), registered / sizes.parts(), ready);
  }

  private void remove(Removed removed, boolean counted) {
    if (isOfOtherGroup(removed)) {
      CacheGroups others = groups;
      if (others != null && removed.tier() == Tier.DEVICE && others.has(removed.group())) {
        evicted += removed.keys().length;
        apply(others, new GroupChange.Removed(removed.group(), removed.keys(), counted));
      } else {
        otherGroup++;
      }
      return;
    }
    applied++;
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

  private boolean isOfOtherGroup(Removed removed) {
    int group = removed.group();
    if (group == KvEvent.UNSPECIFIED || group == prefixGroup) {
      return false;
    }
    CacheGroups others = groups;
    return prefixGroup != KvEvent.UNSPECIFIED || (others != null && others.has(group));
  }

  private void take(long[] keys, Tier tier, boolean counted) {
    long[] cut = sizes.cut(keys);
    evicted += blocks.remove(cut, cut.length, tier, counted);
    changes.removed(cut, tier, counted);
    salts.removed(cut, blocks);
    CacheGroups known = groups;
    if (known != null && known.has(CacheGroups.LOOKAHEAD)) {
      apply(known, new GroupChange.Removed(CacheGroups.LOOKAHEAD, keys, counted));
    }
  }

  /** Whether the event's group makes a prefix: the first group of full attention that shows itself does. */
  private boolean isPrefix(Stored stored) {
    int group = stored.group();
    Spec.Kind kind = stored.spec().kind();
    boolean prefix = kind == Spec.Kind.FULL || kind == Spec.Kind.UNSPECIFIED;
    if (prefix && group != KvEvent.UNSPECIFIED) {
      if (prefixGroup == KvEvent.UNSPECIFIED && (kind == Spec.Kind.FULL || group == 0)) {
        prefixGroup = group;
      }
      prefix = group == prefixGroup;
    }
    return prefix;
  }

  private void storeOfOtherGroup(Stored stored, boolean counted) {
    if (stored.group() == KvEvent.UNSPECIFIED || stored.tier() != Tier.DEVICE) {
      otherGroup++;
      return;
    }
    CacheGroups known = groupsOrNew();
    GroupChange.Stored change = known.stored(stored, blocks::hashOf, counted);
    if (change == null) {
      otherGroup++;
    } else {
      applyFirst(known, change);
    }
  }

  private CacheGroups groupsOrNew() {
    return groups == null ? new CacheGroups(sizes.size()) : groups;
  }

  /** Applies a change that may be the first of all. */
  private void applyFirst(CacheGroups known, GroupChange change) {
    if (groups == null) {
      changes.ofGroups(new GroupChange.Begun(sizes.size()));
    }
    apply(known, change);
    groups = known;
  }

  private void apply(CacheGroups known, GroupChange change) {
    known.apply(change);
    changes.ofGroups(change);
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
        clearGroups();
        yield true;
      }
      case PLACEHOLDER -> {
        placeholder++;
        yield false;
      }
      case UNASSIGNABLE -> {
        unassignable++;
        yield false;
      }
      case PARTIAL -> {
        partial++;
        yield false;
      }
      case OTHER -> {
        otherBlockSize++;
        hint(stored);
        yield false;
      }
    };
  }
}
