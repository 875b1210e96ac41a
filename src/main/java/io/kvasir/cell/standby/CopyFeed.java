package io.kvasir.cell.standby;

import io.kvasir.cell.events.BlockChanges;
import io.kvasir.cell.events.EventPosition;
import io.kvasir.cell.events.EventSalts;
import io.kvasir.index.Holdings;
import io.kvasir.index.Tier;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What is told of one worker to the copies of its cell: each change is written once. One thread at a time. */
public final class CopyFeed implements BlockChanges {
  /** Bytes in a frame, give or take a change. */
  private static final int FRAME = 32 << 10;

  private final Map<String, CopyLink> links = new LinkedHashMap<>();
  private final CopyWriter writer = new CopyWriter();
  private boolean heard;

  /** Tells the copy of a node from now on, and not the one it had before. */
  public void add(String node, CopyLink link) {
    links.put(node, link);
  }

  /** Tells the copy of a node nothing more. */
  public void remove(String node) {
    links.remove(node);
    listen();
  }

  /** The way to a node's copy, null if there is none. */
  public @Nullable CopyLink of(String node) {
    return links.get(node);
  }

  /** The ways to all copies. */
  public Collection<CopyLink> links() {
    return links.values();
  }

  /** The way to a copy that is to be told everything now, null if there is none. */
  public @Nullable CopyLink wanting() {
    for (CopyLink link : links.values()) {
      if (link.wantsEverything()) {
        return link;
      }
    }
    return null;
  }

  /** What is known now is not what the copies were told of: all of them are told anew. */
  public void again() {
    links.values().forEach(CopyLink::again);
    listen();
  }

  /** Begins to tell everything to a copy, between two batches. */
  public void begin(CopyLink link) {
    link.begin();
    writer.begin();
    link.piece(writer.take());
  }

  /** A part of everything. */
  public void part(CopyLink link, Holdings part) {
    switch (part) {
      case Holdings.Blocks blocks -> writer.part(blocks);
      case Holdings.Predicted _ -> throw new IllegalArgumentException("predictions are no worker's own word");
    }
    link.piece(writer.take());
  }

  /** The rest of everything. */
  public void whole(CopyLink link, EventSalts salts, EventPosition position) {
    salts.bySalt().forEach((salt, keys) -> {
      for (int from = 0; from < keys.length; from += CopyWriter.MOST_KEYS) {
        writer.salt(salt, keys, from);
        if (writer.size() >= FRAME) {
          link.piece(writer.take());
        }
      }
    });
    writer.position(position);
    writer.whole();
    link.whole(writer.take());
    listen();
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
    if (heard) {
      for (int from = 0; from < count; from += CopyWriter.MOST_KEYS) {
        writer.stored(parentKey, root, keys, hashes, from, count, tier, counted, salt);
        spill();
      }
    }
  }

  @Override
  public void removed(long[] keys, Tier tier, boolean counted) {
    if (heard) {
      for (int from = 0; from < keys.length; from += CopyWriter.MOST_KEYS) {
        writer.removed(keys, from, tier, counted);
        spill();
      }
    }
  }

  @Override
  public void cleared() {
    if (heard) {
      writer.cleared();
    }
  }

  /** A batch has been applied. */
  public void finish(EventPosition position, int events) {
    if (heard) {
      writer.position(position);
      byte[] payload = writer.take();
      tell(payload, true, events);
    }
  }

  private void spill() {
    if (writer.size() >= FRAME) {
      tell(writer.take(), false, 0);
    }
  }

  private void tell(byte[] payload, boolean finishes, int events) {
    for (CopyLink link : links.values()) {
      if (link.listens()) {
        link.change(payload, finishes, events);
      }
    }
    listen();
  }

  private void listen() {
    heard = false;
    for (CopyLink link : links.values()) {
      heard |= link.listens();
    }
    if (!heard) {
      byte[] _ = writer.take();
    }
  }
}
