package io.kvasir.app.node;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives memory back to the operating system that the heap has grown by, such as for large bodies, and does not need any
 * more: collectors that shrink the heap do so only when they collect all of it, and nothing makes them while there is
 * little to do. That stops the node for as long as its live objects take, some 100 ms, so it happens only when little
 * is allocated: once after the start, and once for each time that the heap has grown. One thread at a time.
 */
public final class HeapRelease {
  private static final Logger LOG = LoggerFactory.getLogger(HeapRelease.class);
  private static final int SECONDS = 10;
  private static final long MIB = 1 << 20;

  /** Growth that is not worth a pause, in bytes. */
  static final long LEAST_GROWTH = 64 * MIB;

  /** Collections between two checks at which it still counts as quiet. */
  private static final int QUIET_COLLECTIONS = 1;

  private final ShrinkableHeap heap;

  /** Bytes it had after the last time; of the start nothing is needed any more. */
  private long settled;

  private long collections;

  /** Of a heap of which nothing has been given back. */
  HeapRelease(ShrinkableHeap heap) {
    this.heap = heap;
    this.collections = heap.collections();
  }

  /** Checks this JVM's heap every {@value #SECONDS} s until the process ends. */
  public static void start() {
    HeapRelease release = new HeapRelease(JvmHeap.ofThisProcess());
    Thread.ofPlatform().daemon().name("kvasir-heap").start(release::repeat);
  }

  private void repeat() {
    try {
      while (true) {
        TimeUnit.SECONDS.sleep(SECONDS);
        check();
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /** Collects the heap if it has grown and little has been allocated since the last check. */
  void check() {
    long before = heap.committed();
    long now = heap.collections();
    boolean quiet = now - collections <= QUIET_COLLECTIONS;
    collections = now;
    if (quiet && before >= settled + LEAST_GROWTH) {
      try {
        heap.shrink();
      } catch (RuntimeException failed) {
        LOG.warn("the heap has grown to {} MiB and cannot be shrunk", before / MIB, failed);
      }
      settled = heap.committed();
      collections = heap.collections();
      if (settled < before) {
        LOG.info("the heap had grown to {} MiB and has {} MiB now", before / MIB, settled / MIB);
      } else {
        LOG.debug("the heap has grown to {} MiB and needs {} MiB", before / MIB, settled / MIB);
      }
    }
  }
}
