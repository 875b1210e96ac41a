package io.kvasir.events;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The bounded queue between a transport's thread (the producer) and a stream (the consumer). A producer that finds it
 * {@link #full} stops reading its transport, and is called when half of it is free again. The bound is soft: messages
 * added to a full queue are kept. Thread-safe.
 */
final class BatchQueue {
  private static final int MAX_BATCHES = 1024;
  private static final long MAX_BYTES = 16L << 20;

  /** A queued batch; {@code live} unless replayed, so that its delay is meaningful. */
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
   * @param onItem called on the producer's thread when an item is added after the consumer found none
   */
  BatchQueue(Runnable onItem, EventMetrics.SourceMetrics metrics) {
    this.onItem = onItem;
    this.metrics = metrics;
  }

  /** Sets what is called on the consumer's thread when half is free after {@link #full}, or when it stops. */
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

  /** Whether the producer should pause; it is then called when there is room. One that has ended is never full. */
  synchronized boolean full() {
    boolean full = !ended && (items.size() >= MAX_BATCHES || bytes >= MAX_BYTES);
    producerWaits |= full;
    return full;
  }

  /** Ends the queue after the items in it, with a failure when the transport cannot be used. */
  void end(@Nullable Throwable why) {
    synchronized (this) {
      ended = true;
      failure = why;
      consumerWaits = false;
    }
    onItem.run();
  }

  /** Ends the queue and drops its items: the consumer has stopped. A producer that waits is called. */
  void abandon() {
    Runnable callback;
    synchronized (this) {
      ended = true;
      metrics.queued(-items.size());
      items.clear();
      bytes = 0;
      callback = producerWaits ? onSpace : null;
      producerWaits = false;
    }
    if (callback != null) {
      callback.run();
    }
  }

  /** The next item; null when there is none, and {@code onItem} is called when one is added. */
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

  /** Whether the queue has ended and is empty. */
  synchronized boolean exhausted() {
    return ended && items.isEmpty();
  }

  synchronized @Nullable Throwable failure() {
    return failure;
  }
}
