package io.kvasir.routing;

import io.kvasir.time.NanoClock;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.random.RandomGenerator;
import java.util.random.RandomGenerator.SplittableGenerator;
import org.jspecify.annotations.Nullable;

/** The buffers of one decision, reused by the next. */
final class Scratch {
  /** The most workers that a picker ranks at a time. */
  static final int RANKED = 4;

  final Candidates candidates;
  final double[] scores;
  final double[] column;
  final int[] ranked = new int[RANKED];
  final int[] earlier = new int[RANKED];
  final RandomGenerator random;
  final StageClock clock;

  Scratch(int slots, RandomGenerator random, StageClock clock) {
    this.candidates = new Candidates(slots);
    this.scores = new double[slots];
    this.column = new double[slots];
    this.random = random;
    this.clock = clock;
  }

  /**
   * The pool of idle scratches. Decisions run on virtual threads that live for one request, so that a thread-local
   * would make a new scratch per request. Lock-free: a thread whose entry is empty makes a new scratch; of two
   * scratches released to one entry the first is dropped.
   */
  static final class Pool {
    /** References per entry, so that two threads' entries do not share a cache line. */
    private static final int STRIDE = 32;

    private final SplittableGenerator random;
    private final RoutingMetrics metrics;
    private final NanoClock clock;
    private final AtomicReferenceArray<@Nullable Scratch> idle;
    private final int entries;

    Pool(SplittableGenerator random, RoutingMetrics metrics, NanoClock clock) {
      this.random = random;
      this.metrics = metrics;
      this.clock = clock;
      this.entries = Integer.highestOneBit(Math.max(1, Runtime.getRuntime().availableProcessors())) * 2;
      this.idle = new AtomicReferenceArray<>(entries * STRIDE);
    }

    Scratch acquire(int slots) {
      Scratch scratch = idle.getAndSet(index(), null);
      return scratch != null && scratch.candidates.slots() == slots ? scratch : make(slots);
    }

    void release(Scratch scratch) {
      idle.lazySet(index(), scratch);
    }

    private int index() {
      return ((int) Thread.currentThread().threadId() & (entries - 1)) * STRIDE;
    }

    private Scratch make(int slots) {
      RandomGenerator split;
      synchronized (random) {
        split = random.split();
      }
      return new Scratch(slots, split, new StageClock(metrics, clock));
    }
  }
}
