package io.kvasir.load.index;

import io.kvasir.load.index.IndexTrace.Request;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleConsumer;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;

/**
 * Replays requests through an index. Event threads apply what the workers' caches evict and store as fast as
 * they can, each for workers of its own; with one event thread another one looks chains up meanwhile.
 *
 * <p>Looked up are the requests of the last {@value #RECENT} at random: most of those chains are held to the
 * end somewhere, which is the most work a look-up can have.
 */
final class IndexReplay {
  private static final int RECENT = 4096;

  private final List<Request> requests;
  private final int workers;

  /** What one pass came to; look-ups in nanoseconds, the clock's own cost included. */
  record Pass(double blocksPerSecond, Histogram lookups) {}

  IndexReplay(List<Request> requests, int workers) {
    this.requests = requests;
    this.workers = workers;
  }

  /** How many requests the index answers differently from the caches themselves, queried before each is applied. */
  int mismatches(IndexUnderTest index, DoubleConsumer progress) {
    int[] depths = new int[workers + 63 & ~63];
    int wrong = 0;
    for (int i = 0; i < requests.size(); i++) {
      Request request = requests.get(i);
      Arrays.fill(depths, 0);
      index.search(request.chain(), request.locals(), depths);
      if (IndexTrace.checksum(depths, workers) != request.depths()) {
        wrong++;
      }
      index.apply(request);
      if (i % 256 == 0) {
        progress.accept((double) i / requests.size());
      }
    }
    return wrong;
  }

  /** Bytes of heap an index takes for each (worker, block) pair it holds once all is applied. */
  double bytesPerPair(Supplier<? extends IndexUnderTest> make) {
    long before = heap();
    IndexUnderTest index = make.get();
    try {
      for (Request request : requests) {
        int _ = index.apply(request);
      }
      return (double) (heap() - before) / index.pairs();
    } finally {
      Reference.reachabilityFence(index);
    }
  }

  private static long heap() {
    MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    System.gc();
    System.gc();
    return memory.getHeapMemoryUsage().getUsed();
  }

  /** One pass with one or several event threads; with one, look-ups are measured beside it. */
  Pass pass(IndexUnderTest index, int threads, DoubleConsumer progress) throws InterruptedException {
    System.gc();
    AtomicInteger at = new AtomicInteger();
    AtomicLong written = new AtomicLong();
    AtomicBoolean done = new AtomicBoolean();
    Histogram lookups = new Histogram(10_000_000_000L, 3);
    Thread reader = Thread.ofPlatform().unstarted(() -> read(index, at, done, lookups));
    List<Thread> writers = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      int share = i;
      writers.add(Thread.ofPlatform().unstarted(() -> written.addAndGet(write(index, share, threads, at))));
    }
    long begin = System.nanoTime();
    writers.forEach(Thread::start);
    if (threads == 1) {
      reader.start();
    }
    for (Thread writer : writers) {
      while (!writer.join(Duration.ofMillis(200))) {
        progress.accept((double) at.get() / requests.size());
      }
    }
    long nanos = System.nanoTime() - begin;
    done.set(true);
    reader.join();
    return new Pass(written.get() * 1e9 / nanos, lookups);
  }

  private long write(IndexUnderTest index, int share, int threads, AtomicInteger at) {
    long written = 0;
    for (int i = 0; i < requests.size(); i++) {
      Request request = requests.get(i);
      if (request.worker() % threads == share) {
        written += index.apply(request);
        at.lazySet(i);
      }
    }
    return written;
  }

  private void read(IndexUnderTest index, AtomicInteger at, AtomicBoolean done, Histogram lookups) {
    int[] depths = new int[workers + 63 & ~63];
    SplittableRandom random = new SplittableRandom(1);
    while (!done.get()) {
      int now = at.get();
      Request request = requests.get(random.nextInt(Math.max(0, now - RECENT), now + 1));
      // Copies: a router has just made the chain it looks up.
      long[] chain = request.chain().clone();
      long[] locals = request.locals().clone();
      long before = System.nanoTime();
      index.search(chain, locals, depths);
      lookups.recordValue(System.nanoTime() - before);
    }
  }
}
