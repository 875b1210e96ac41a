package io.kvasir.events;

import java.util.ArrayDeque;

/** The snapshots that a node reads at a time; each is held in memory until it is applied. Thread-safe. */
final class SnapshotSlots {
  private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
  private int free;

  /** So many slots, all free. */
  SnapshotSlots(int slots) {
    this.free = slots;
  }

  /** Runs {@code granted} as soon as there is a slot for it, on the thread that frees it. */
  void acquire(Runnable granted) {
    synchronized (this) {
      if (free == 0) {
        waiting.add(granted);
        return;
      }
      free--;
    }
    granted.run();
  }

  /** Gives up waiting; false when the slot has been granted, and has to be released. */
  synchronized boolean cancel(Runnable granted) {
    return waiting.remove(granted);
  }

  /** Frees a slot. */
  void release() {
    Runnable next;
    synchronized (this) {
      next = waiting.poll();
      if (next == null) {
        free++;
        return;
      }
    }
    next.run();
  }
}
