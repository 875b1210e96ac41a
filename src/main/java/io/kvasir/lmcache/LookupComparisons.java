package io.kvasir.lmcache;

import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The comparisons of lookups with what LMCache's own events say: of prompts that its events say are held, a service
 * that names chunks as its workers do finds some. One that finds none for long names them in another way.
 * Thread-safe; the common case is one read.
 */
final class LookupComparisons {
  /** Events report no removals, so some of these may be gone; all in a row are not. */
  static final int MIN_MISSING = 50;

  private static final String CONTROLLER_REMEDY =
      "give all of them and the controller one PYTHONHASHSEED, and have vLLM where the controller runs, or nowhere";
  private static final String COORDINATOR_REMEDY =
      "give the coordinator and its servers one --chunk-size and one --hash-algorithm, and see that"
          + " kvasir.lmcache.world-size and kvasir.lmcache.models are the engines'";

  private static final Logger LOG = LoggerFactory.getLogger(LookupComparisons.class);
  private static final Duration MIN_TIME = Duration.ofMinutes(1);
  /** A result is used for a while, in which events may come that it has not seen. */
  private static final int REMEMBERED_PERIODS = 3;

  private final String service;
  private final String remedy;
  private final int chunkTokens;
  private final long minNanos;
  private final NanoClock clock;
  private final LmCacheMetrics metrics;
  private final AtomicInteger missing = new AtomicInteger();
  private final AtomicBoolean faulty = new AtomicBoolean();
  private volatile long missingSince;

  LookupComparisons(LmCacheSettings settings, NanoClock clock, LmCacheMetrics metrics) {
    this.service = settings.serviceName() + " " + settings.service();
    this.remedy = settings.directory() == null ? CONTROLLER_REMEDY : COORDINATOR_REMEDY;
    this.chunkTokens = settings.lookups().chunkTokens();
    this.minNanos = Math.max(
        MIN_TIME.toNanos(), settings.lookups().remember().multipliedBy(REMEMBERED_PERIODS).toNanos());
    this.clock = clock;
    this.metrics = metrics;
  }

  /**
   * A lookup's result was used for a prompt.
   *
   * @param reportedTokens leading tokens that events say are held; less than a chunk is not compared
   * @param foundTokens leading tokens that the lookup found, anywhere
   */
  void record(int reportedTokens, int foundTokens) {
    if (reportedTokens < chunkTokens) {
      return;
    }
    boolean found = foundTokens > 0;
    metrics.recordComparison(found);
    if (found) {
      if (missing.get() != 0) {
        missing.set(0);
        if (faulty.getAndSet(false)) {
          LOG.info("the LMCache {} finds what events say is held again", service);
        }
      }
      return;
    }
    int count = missing.incrementAndGet();
    long now = clock.nanos();
    if (count == 1) {
      missingSince = now;
    } else if (count >= MIN_MISSING && now - missingSince >= minNanos && faulty.compareAndSet(false, true)) {
      LOG.warn("{}", problem().line());
    }
  }

  /** What is wrong; empty while lookups find something. */
  Optional<Problem> fault() {
    return faulty.get() ? Optional.of(problem()) : Optional.empty();
  }

  private Problem problem() {
    return Problem.warning(
        ("the LMCache %s finds none of the prompts that LMCache's events say are held (%d in a row): it"
            + " names chunks in another way than its workers").formatted(service, missing.get()),
        remedy);
  }
}
