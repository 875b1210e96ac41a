package io.kvasir.events;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Between a transport's thread, which adds, and a stream, which takes. Bounded softly: an adder that sees
 * it {@link #full} stops reading its transport, and is called when half of it is free again. What it
 * adds meanwhile is kept. Thread-safe.
 */
final class BatchQueue {
  private static final int MAX_BATCHES = 1024;
  private static final long MAX_BYTES = 16L << 20;

  /** What waits in the queue; {@code live} when its delay means something. */
  record Item(KvBatch batch, int bytes, boolean live) {}

  private final EventMetrics.SourceMetrics metrics;
  private final Runnable onItem;
  private @Nullable Runnable onSpace;
  private final ArrayDeque<Item> items = new ArrayDeque<>();
  private long bytes;
  private boolean consumerWaits;
  private boolean producerWaits;
  private boolean ended;
  private @Nullable Throwable failure;

  /**
   * Makes an empty queue.
   *
   * @param onItem called after a taker found nothing and something is there; from the adder's thread
   */
  BatchQueue(Runnable onItem, EventMetrics.SourceMetrics metrics) {
    this.onItem = onItem;
    this.metrics = metrics;
  }

  /** Sets what is called after {@link #full} was true and half is free again; from the taker's thread. */
  synchronized void onSpace(Runnable callback) {
    onSpace = callback;
  }

  void add(Item item) {
    boolean wake;
    synchronized (this) {
      if (ended) {
        return;
      }
      items.add(item);
      bytes += item.bytes;
      metrics.queued(1);
      wake = consumerWaits;
      consumerWaits = false;
    }
    if (wake) {
      onItem.run();
    }
  }

  /** Whether the adder should pause; it is then called when there is room. */
  synchronized boolean full() {
    boolean full = items.size() >= MAX_BATCHES || bytes >= MAX_BYTES;
    producerWaits |= full;
    return full;
  }

  /** Ends the queue after what is in it; with a failure when it cannot go on. */
  void end(@Nullable Throwable why) {
    synchronized (this) {
      ended = true;
      failure = why;
      consumerWaits = false;
    }
    onItem.run();
  }

  /** Drops what is in it: nobody will take it. */
  synchronized void abandon() {
    ended = true;
    metrics.queued(-items.size());
    items.clear();
  }

  /** The next item; null when there is none, and {@code onItem} is called when there is. */
  @Nullable Item poll() {
    Item item;
    Runnable callback = null;
    synchronized (this) {
      item = items.poll();
      if (item == null) {
        consumerWaits = !ended;
        return null;
      }
      bytes -= item.bytes;
      metrics.queued(-1);
      if (producerWaits && items.size() <= MAX_BATCHES / 2 && bytes <= MAX_BYTES / 2) {
        producerWaits = false;
        callback = onSpace;
      }
    }
    if (callback != null) {
      callback.run();
    }
    return item;
  }

  /** Whether nothing will come any more. */
  synchronized boolean exhausted() {
    return ended && items.isEmpty();
  }

  synchronized @Nullable Throwable failure() {
    return failure;
  }
}
