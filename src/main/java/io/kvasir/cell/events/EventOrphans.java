package io.kvasir.cell.events;

import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.Tier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Stored blocks whose parent is not known: parked, never indexed at a guessed position. Bounded by the
 * tokens they hold on to; the longest waiting give way. One thread at a time.
 */
final class EventOrphans {
  /** About a megabyte of token ids. */
  static final int MAX_TOKENS = 262_144;

  private final Map<Long, List<Orphan>> byParent = new HashMap<>();
  private final Map<Long, List<Orphan>> byKey = new HashMap<>();
  private final LinkedHashMap<Orphan, Boolean> byAge = new LinkedHashMap<>();
  private int tokens;

  /** An event that waits; identity matters, not content. */
  static final class Orphan {
    final Stored stored;
    final boolean counted;

    private final boolean[] removed;
    private int remaining;

    private Orphan(Stored stored, boolean counted) {
      this.stored = stored;
      this.counted = counted;
      this.removed = new boolean[stored.keys().length];
      this.remaining = removed.length;
    }

    /** Whether it stored a block in a tier that was not removed there while it waited. */
    boolean holds(long key, Tier tier) {
      for (int i = 0; i < removed.length; i++) {
        if (stored.tier() == tier && !removed[i] && stored.keys()[i] == key) {
          return true;
        }
      }
      return false;
    }

    /** Keys of the blocks that were removed while they waited: they lead to those after them all the same. */
    long[] removedKeys() {
      long[] keys = new long[removed.length - remaining];
      int count = 0;
      for (int i = 0; i < removed.length; i++) {
        if (removed[i]) {
          keys[count++] = stored.keys()[i];
        }
      }
      return keys;
    }
  }

  boolean isEmpty() {
    return byAge.isEmpty();
  }

  int size() {
    return byAge.size();
  }

  /** Parks an event; returns how many had to be given up for it, itself included. */
  int park(Stored stored, boolean counted) {
    if (stored.tokens().length > MAX_TOKENS) {
      return 1;
    }
    int dropped = 0;
    while (tokens + stored.tokens().length > MAX_TOKENS) {
      Orphan oldest = byAge.firstEntry().getKey();
      unpark(oldest);
      dropped++;
    }
    Orphan orphan = new Orphan(stored, counted);
    byAge.put(orphan, true);
    tokens += stored.tokens().length;
    byParent.computeIfAbsent(stored.parentKey(), _ -> new ArrayList<>(1)).add(orphan);
    for (long key : stored.keys()) {
      byKey.computeIfAbsent(key, _ -> new ArrayList<>(1)).add(orphan);
    }
    return dropped;
  }

  /** Takes out those that wait for any of the first {@code count} keys, into {@code ready}. */
  void take(long[] keys, int count, ArrayDeque<Orphan> ready) {
    for (int i = 0; i < count && !byAge.isEmpty(); i++) {
      List<Orphan> waiting = byParent.get(keys[i]);
      if (waiting != null) {
        for (Orphan orphan : List.copyOf(waiting)) {
          unpark(orphan);
          ready.add(orphan);
        }
      }
    }
  }

  /**
   * The engine removed a block from a tier: takes it out of the events that wait, if it is in one that stored it
   * there. Returns whether it was.
   *
   * @param counted whether one of several copies, or all there are
   */
  boolean remove(long key, Tier tier, boolean counted) {
    boolean found = false;
    for (Orphan orphan : List.copyOf(byKey.getOrDefault(key, List.of()))) {
      if (orphan.stored.tier() == tier && !(found && counted)) {
        remove(key, orphan);
        found = true;
      }
    }
    return found;
  }

  private void remove(long key, Orphan orphan) {
    int at = 0;
    while (orphan.stored.keys()[at] != key || orphan.removed[at]) {
      at++;
    }
    drop(byKey, key, orphan);
    orphan.removed[at] = true;
    if (--orphan.remaining == 0) {
      unpark(orphan);
    }
  }

  void clear() {
    byParent.clear();
    byKey.clear();
    byAge.clear();
    tokens = 0;
  }

  private void unpark(Orphan orphan) {
    byAge.remove(orphan);
    tokens -= orphan.stored.tokens().length;
    drop(byParent, orphan.stored.parentKey(), orphan);
    for (int i = 0; i < orphan.removed.length; i++) {
      if (!orphan.removed[i]) {
        drop(byKey, orphan.stored.keys()[i], orphan);
      }
    }
  }

  private static void drop(Map<Long, List<Orphan>> map, long key, Orphan orphan) {
    List<Orphan> list = map.get(key);
    if (list != null && list.remove(orphan) && list.isEmpty()) {
      map.remove(key);
    }
  }
}
