package io.kvasir.lab;

import io.kvasir.enginemodel.CacheListener;
import io.kvasir.enginemodel.EngineModel;
import io.kvasir.enginemodel.EngineStep;
import io.kvasir.enginemodel.HostLink;
import io.kvasir.enginemodel.HostTier;
import io.kvasir.enginemodel.PagedCache;
import io.kvasir.enginemodel.Scheduler;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.index.Chain;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One engine in simulated time: it admits new requests between two iterations, and an iteration lasts as long as the
 * engine model computes, times its slowness and with its stalls. vLLM's defaults: 8,192 tokens and 256 sequences per
 * iteration.
 *
 * <p>Most iterations only add a token to each answer. Those that follow one another so are one event, which ends with
 * the last of them; a request that comes meanwhile cuts it short after the iteration that runs.
 */
final class LabEngine {
  /** The end of an iteration when none runs. */
  static final double NEVER = Double.POSITIVE_INFINITY;

  private static final int TOKEN_BUDGET = 8192;
  private static final int MAX_SEQUENCES = 256;
  private static final int TRIES = 4;

  /** PCIe 5: what loading from host memory is bound by. */
  private static final double HOST_GBPS = 400;

  private static final double HOST_SETUP_MS = 0.5;

  private final StepTime time;
  private final double slowness;
  private final StallChoice stalls;
  private final SplittableRandom random;
  private final HostLink link;
  private final Scheduler<LabSequence> scheduler;
  private final PagedCache cache;
  private final long kvTokens;
  private @Nullable EngineStep<LabSequence> step;
  private double stepEndsMs = NEVER;

  /** The iterations that end before the running event's last one, and when the first of them does. */
  private int repeats;

  private double firstEndsMs;
  private double stallMs;

  /**
   * An idle engine.
   *
   * @param host memory beside the cache, null for none
   * @param random for the stalls
   */
  LabEngine(
      EngineChoice.Each engine,
      int blockSize,
      CacheListener listener,
      @Nullable HostTier host,
      StallChoice stalls,
      SplittableRandom random) {
    EngineModel model = engine.model();
    this.slowness = engine.slowness();
    this.stalls = stalls;
    this.random = random;
    this.stallMs = stalls.gapMs(random);
    this.link = HostLink.of(HOST_GBPS, model.kvBytesPerToken(), HOST_SETUP_MS);
    this.cache = new PagedCache(blocks(model, blockSize), blockSize, listener);
    this.time = model.stepTime();
    this.scheduler = new Scheduler<>(cache, host, TOKEN_BUDGET, MAX_SEQUENCES);
    this.kvTokens = (long) cache.capacity() * blockSize;
  }

  /** The capacity of an engine's cache, in blocks. */
  static int blocks(EngineModel model, int blockSize) {
    return Math.max(1, model.kvTokens() / blockSize);
  }

  /** Whether a request and its answer fit into the whole cache; vLLM refuses those that do not. */
  boolean fits(LabRequest request) {
    return (long) request.promptTokens() + request.outputTokens() <= kvTokens;
  }

  /** Leading tokens of a prompt in its cache, for another engine to copy. */
  int heldTokens(Chain chain) {
    return cache.held(chain.hashes()) * cache.blockSize();
  }

  /** The end of the running iterations, in milliseconds; {@link #NEVER} when none run. */
  double stepEndsMs() {
    return stepEndsMs;
  }

  /** Queues a request; an idle engine starts an iteration at once. */
  void submit(LabSequence sequence, double nowMs) {
    cutShort(nowMs);
    scheduler.add(sequence);
    if (step == null) {
      wake(nowMs);
    }
  }

  /** Notes that a {@link LabSequence.RequestPhase#DECODE} sequence has its copy of the prompt's blocks. */
  void loaded(LabSequence sequence, double nowMs) {
    cutShort(nowMs);
    scheduler.loaded(sequence);
    sequence.copied();
    if (step == null) {
      wake(nowMs);
    }
  }

  /** Releases the blocks that a prefill sequence kept for the decode engine. */
  void release(LabSequence sequence) {
    scheduler.abort(sequence);
  }

  /** Ends the running iterations, at {@link #stepEndsMs}, and begins the next. */
  void endStep() {
    EngineStep<LabSequence> ended = step;
    if (ended == null) {
      throw new IllegalStateException("no iteration runs");
    }
    double nowMs = stepEndsMs;
    scheduler.repeat(ended, repeats);
    repeats = 0;
    scheduler.complete(ended);
    begin(nowMs);
  }

  /** Loses its cache, as an idle engine does that stops. */
  void clear() {
    if (!cache.clear()) {
      throw new IllegalStateException("an engine was stopped that has requests");
    }
  }

  /** How long an iteration that begins now is held up by the stalls that are due. */
  private double stall(double nowMs) {
    double lengthMs = 0;
    while (stallMs <= nowMs) {
      lengthMs += stalls.lengthMs(random);
      stallMs += stalls.gapMs(random);
    }
    return lengthMs;
  }

  /**
   * Lets iterations like {@code first} follow it, at most {@code most}, up to the one that ends after {@code untilMs}
   * or is held up by a stall.
   */
  private void repeat(EngineStep<LabSequence> first, int most, double untilMs) {
    repeats = 0;
    stepEndsMs = firstEndsMs;
    while (repeats < most && stepEndsMs <= untilMs && stepEndsMs < stallMs) {
      repeats++;
      first.advance(1);
      stepEndsMs += slowness * time.millis(first);
    }
  }

  /** Ends the running event with the iteration that runs: another sequence is to begin after it. */
  private void cutShort(double nowMs) {
    EngineStep<LabSequence> running = step;
    if (running != null && repeats > 0) {
      int most = repeats;
      running.advance(-most);
      repeat(running, most, nowMs);
    }
  }

  /** Begins an iteration after a time without any; stalls that came meanwhile have passed. */
  private void wake(double nowMs) {
    while (stallMs <= nowMs) {
      stallMs += stalls.gapMs(random);
    }
    begin(nowMs);
  }

  private void begin(double nowMs) {
    step = null;
    stepEndsMs = NEVER;
    // A sequence that preempted itself leaves an iteration empty: the next one starts it again.
    for (int i = 0; scheduler.running() + scheduler.waiting() > 0; i++) {
      EngineStep<LabSequence> planned = scheduler.plan();
      if (planned.tokens() > 0) {
        step = planned;
        firstEndsMs = nowMs + slowness * (time.millis(planned) + link.millis(planned)) + stall(nowMs);
        repeat(planned, scheduler.repeats(planned), NEVER);
        return;
      }
      if (scheduler.running() == 0 && scheduler.isLoading()) {
        return;
      }
      if (i == TRIES) {
        throw new IllegalStateException("a request waits for more blocks than the cache has");
      }
    }
  }
}
