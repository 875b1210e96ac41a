package io.kvasir.routing;

import io.kvasir.time.NanoClock;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.random.RandomGenerator;
import java.util.random.RandomGenerator.SplittableGenerator;
import org.jspecify.annotations.Nullable;

/** The columns one decision works in, reused by the next. */
final class Scratch {
  /** How many workers a picker ranks at a time. */
  static final int RANKED = 4;

  final Candidates candidates;
  final double[] scores;
  final double[] column;
  final int[] ranked = new int[RANKED];
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
   * Scratches at rest. Decisions run on virtual threads that live for one request, so a thread-local would
   * make a new scratch per request; this hands the same few from thread to thread. Lock-free: a thread that
   * finds its place taken makes a scratch of its own, which is dropped afterwards if there is no place for it.
   */
  static final class Pool {
    /** References per place, so that two threads' places do not share a cache line. */
    private static final int STRIDE = 32;

    private final SplittableGenerator random;
    private final RoutingMetrics metrics;
    private final NanoClock clock;
    private final AtomicReferenceArray<@Nullable Scratch> idle;
    private final int places;

    Pool(SplittableGenerator random, RoutingMetrics metrics, NanoClock clock) {
      this.random = random;
      this.metrics = metrics;
      this.clock = clock;
      this.places = Integer.highestOneBit(Math.max(1, Runtime.getRuntime().availableProcessors())) * 2;
      this.idle = new AtomicReferenceArray<>(places * STRIDE);
    }

    Scratch acquire(int slots) {
      Scratch scratch = idle.getAndSet(place(), null);
      return scratch != null && scratch.candidates.slots() == slots ? scratch : make(slots);
    }

    void release(Scratch scratch) {
      idle.lazySet(place(), scratch);
    }

    private int place() {
      return ((int) Thread.currentThread().threadId() & (places - 1)) * STRIDE;
    }

    private Scratch make(int slots) {
      RandomGenerator own;
      synchronized (random) {
        own = random.split();
      }
      return new Scratch(slots, own, new StageClock(metrics, clock));
    }
  }
}
