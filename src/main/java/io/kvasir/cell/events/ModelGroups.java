package io.kvasir.cell.events;

import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.Tier;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The KV cache groups of an engine's model: which of them makes the prefix, and what the {@linkplain CacheGroups
 * others} hold. One thread at a time applies; any thread may read {@link #others}.
 */
final class ModelGroups {
  private final EngineBlocks sizes;
  private final BlockChangeListener changes;
  /** The hybrid model's group that makes the prefix, once one has shown itself. */
  private int prefix;
  /** The groups beside that; null while none has shown itself. */
  private volatile @Nullable CacheGroups others;

  /** Groups of which this much has shown itself. */
  ModelGroups(EngineBlocks sizes, BlockChangeListener changes, int prefix, @Nullable CacheGroups others) {
    this.sizes = sizes;
    this.changes = changes;
    this.prefix = prefix;
    this.others = others;
  }

  /** The group that makes the prefix, {@link KvEvent#UNSPECIFIED} until one has shown itself. */
  int prefix() {
    return prefix;
  }

  /** What the other groups hold, null while none has shown itself. Any thread. */
  @Nullable CacheGroups others() {
    return others;
  }

  /** The engine was started anew, and may have another model. */
  void restart() {
    clear();
    prefix = KvEvent.UNSPECIFIED;
  }

  /** The others hold nothing, and have yet to show that they are there. */
  void clear() {
    if (others != null) {
      others = null;
      changes.ofGroups(new GroupChange.Cleared());
    }
  }

  /** Whether the event's group makes a prefix: the first group of full attention that shows itself does. */
  boolean makesPrefix(Stored stored) {
    int group = stored.group();
    Spec.Kind kind = stored.spec().kind();
    boolean full = kind == Spec.Kind.FULL || kind == Spec.Kind.UNSPECIFIED;
    if (!full || group == KvEvent.UNSPECIFIED) {
      return full;
    }
    if (prefix == KvEvent.UNSPECIFIED && (kind == Spec.Kind.FULL || group == 0)) {
      prefix = group;
    }
    return group == prefix;
  }

  /** Whether the event's group is another than the prefix's. */
  boolean isOther(Removed removed) {
    int group = removed.group();
    if (group == KvEvent.UNSPECIFIED || group == prefix) {
      return false;
    }
    CacheGroups known = others;
    return prefix != KvEvent.UNSPECIFIED || (known != null && known.has(group));
  }

  /**
   * Blocks of another group are stored.
   *
   * @param hashOf the chain hash of a key's prefix block, 0 if it is not there yet
   * @return whether the group is followed
   */
  boolean store(Stored stored, LongUnaryOperator hashOf, boolean counted) {
    if (stored.group() == KvEvent.UNSPECIFIED || stored.tier() != Tier.DEVICE) {
      return false;
    }
    CacheGroups known = othersOrNew();
    GroupChange.Stored change = known.stored(stored, hashOf, counted);
    if (change == null) {
      return false;
    }
    applyFirst(known, change);
    return true;
  }

  /** Blocks of another group are removed; returns whether it is followed. */
  boolean remove(Removed removed, boolean counted) {
    CacheGroups known = others;
    if (known == null || removed.tier() != Tier.DEVICE || !known.has(removed.group())) {
      return false;
    }
    apply(known, new GroupChange.Removed(removed.group(), removed.keys(), counted));
    return true;
  }

  /** The first {@code registered} blocks of an event are in the prefix, with these chain hashes. */
  void placed(Stored stored, long[] hashes, int registered, boolean counted) {
    CacheGroups known = others;
    long[] names = CacheGroups.names(stored, hashes, registered);
    if (known != null) {
      GroupChange.Placed placed = known.placed(stored.keys(), names, registered);
      if (placed != null) {
        apply(known, placed);
      }
    }
    if (!stored.lookahead().isAny()) {
      CacheGroups followed = othersOrNew();
      applyFirst(followed, followed.storedWithLookahead(stored, names, counted));
    }
  }

  /** Blocks are removed from the prefix. */
  void taken(long[] keys, boolean counted) {
    CacheGroups known = others;
    if (known != null && known.has(CacheGroups.LOOKAHEAD)) {
      apply(known, new GroupChange.Removed(CacheGroups.LOOKAHEAD, keys, counted));
    }
  }

  private CacheGroups othersOrNew() {
    CacheGroups known = others;
    return known == null ? new CacheGroups(sizes.size()) : known;
  }

  /** Applies a change that may be the first of all. */
  private void applyFirst(CacheGroups known, GroupChange change) {
    if (others == null) {
      changes.ofGroups(new GroupChange.Begun(sizes.size()));
    }
    apply(known, change);
    others = known;
  }

  private void apply(CacheGroups known, GroupChange change) {
    known.apply(change);
    changes.ofGroups(change);
  }
}
