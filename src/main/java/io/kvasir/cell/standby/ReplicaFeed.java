package io.kvasir.cell.standby;

import io.kvasir.cell.events.AppliedPosition;
import io.kvasir.cell.events.BlockChangeListener;
import io.kvasir.cell.events.CacheGroups;
import io.kvasir.cell.events.EventSalts;
import io.kvasir.cell.events.GroupChange;
import io.kvasir.index.Holdings;
import io.kvasir.index.Tier;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes the changes of one worker's blocks once for all replicas of its cell. One thread at a time. */
public final class ReplicaFeed implements BlockChangeListener {
  /** Bytes in a frame, give or take a change. */
  private static final int FRAME_BYTES = 32 << 10;

  private final Map<String, ReplicaLink> links = new LinkedHashMap<>();
  private final ReplicaWriter writer = new ReplicaWriter();
  private boolean subscribed;

  /** Adds the link to a node's replica, in place of an earlier one of that node. */
  public void add(String node, ReplicaLink link) {
    links.put(node, link);
  }

  /** Removes the link to a node's replica. */
  public void remove(String node) {
    links.remove(node);
    updateSubscribed();
  }

  /** The link to a node's replica, null if there is none. */
  public @Nullable ReplicaLink link(String node) {
    return links.get(node);
  }

  /** The ways to all copies. */
  public Collection<ReplicaLink> links() {
    return links.values();
  }

  /** The link to a replica that needs a snapshot now, null if there is none. */
  public @Nullable ReplicaLink awaitingSnapshot() {
    for (ReplicaLink link : links.values()) {
      if (link.needsSnapshot()) {
        return link;
      }
    }
    return null;
  }

  /** Has all replicas get a new snapshot: what they have does not lead to what is known now. */
  public void restart() {
    links.values().forEach(ReplicaLink::restart);
    updateSubscribed();
  }

  /** Begins the snapshot of a replica, between two batches. */
  public void beginSnapshot(ReplicaLink link) {
    link.beginSnapshot();
    writer.begin();
    link.snapshotPart(writer.take());
  }

  /** A part of everything. */
  public void snapshotPart(ReplicaLink link, Holdings part) {
    switch (part) {
      case Holdings.Blocks blocks -> writer.part(blocks);
      case Holdings.Predicted _ -> throw new IllegalArgumentException("predictions are no worker's own word");
    }
    link.snapshotPart(writer.take());
  }

  /** The rest of everything. */
  public void endSnapshot(
      ReplicaLink link, EventSalts salts, @Nullable CacheGroups groups, AppliedPosition position) {
    salts.bySalt().forEach((salt, keys) -> {
      for (int from = 0; from < keys.length; from += ReplicaWriter.MAX_KEYS) {
        writer.salt(salt, keys, from);
        spillSnapshot(link);
      }
    });
    if (groups != null) {
      groups.forEachHeld(ReplicaWriter.MAX_KEYS, change -> {
        writer.ofGroups(change);
        spillSnapshot(link);
      });
    }
    writer.position(position);
    writer.complete();
    link.endSnapshot(writer.take());
    updateSubscribed();
  }

  private void spillSnapshot(ReplicaLink link) {
    if (writer.size() >= FRAME_BYTES) {
      link.snapshotPart(writer.take());
    }
  }

  @Override
  public void stored(
      long parentKey,
      boolean root,
      long[] keys,
      long[] hashes,
      int count,
      Tier tier,
      boolean counted,
      @Nullable String salt) {
    if (subscribed) {
      for (int from = 0; from < count; from += ReplicaWriter.MAX_KEYS) {
        writer.stored(parentKey, root, keys, hashes, from, count, tier, counted, salt);
        spill();
      }
    }
  }

  @Override
  public void copied(long[] keys, Tier tier, boolean counted) {
    if (subscribed) {
      for (int from = 0; from < keys.length; from += ReplicaWriter.MAX_KEYS) {
        writer.copied(keys, from, tier, counted);
        spill();
      }
    }
  }

  @Override
  public void removed(long[] keys, Tier tier, boolean counted) {
    if (subscribed) {
      for (int from = 0; from < keys.length; from += ReplicaWriter.MAX_KEYS) {
        writer.removed(keys, from, tier, counted);
        spill();
      }
    }
  }

  @Override
  public void cleared() {
    if (subscribed) {
      writer.cleared();
    }
  }

  @Override
  public void ofGroups(GroupChange change) {
    if (subscribed) {
      for (GroupChange part : change.parts(ReplicaWriter.MAX_KEYS)) {
        writer.ofGroups(part);
        spill();
      }
    }
  }

  /** A batch has been applied. */
  public void batchApplied(AppliedPosition position, int events) {
    if (subscribed) {
      writer.position(position);
      ReplicaChanges payload = writer.take();
      send(payload, true, events);
    }
  }

  private void spill() {
    if (writer.size() >= FRAME_BYTES) {
      send(writer.take(), false, 0);
    }
  }

  private void send(ReplicaChanges payload, boolean finishes, int events) {
    for (ReplicaLink link : links.values()) {
      if (link.acceptsChanges()) {
        link.change(payload, finishes, events);
      }
    }
    updateSubscribed();
  }

  private void updateSubscribed() {
    subscribed = false;
    for (ReplicaLink link : links.values()) {
      subscribed |= link.acceptsChanges();
    }
    if (!subscribed) {
      ReplicaChanges _ = writer.take();
    }
  }
}
