package io.kvasir.sim.core;

import io.kvasir.enginemodel.EngineStep;
import io.kvasir.enginemodel.HostLink;
import io.kvasir.enginemodel.HostTier;
import io.kvasir.enginemodel.PagedCache;
import io.kvasir.enginemodel.Scheduler;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.sim.lmcache.CacheEventReporter;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.publisher.EventPublisher;
import io.kvasir.sim.settings.HostTierSettings;
import io.kvasir.sim.settings.SimSettings;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One data-parallel rank: a thread that plans an iteration, lets its time pass, completes it, publishes its cache
 * events as one batch and then delivers the new tokens. Other threads enqueue commands, which it runs between
 * iterations.
 *
 * <p>As in vLLM an idle engine takes no steps, so the event of a cleared cache is published only when the next request
 * causes one. SGLang publishes when idle.
 */
public final class EngineCore implements EngineMetrics.RankLoad, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EngineCore.class);
  private static final double SLOWNESS = 10;
  private static final long SLOW_STEP_NANOS = 10_000_000;
  /** How late a step may be and the next still keep to the schedule: what sleeping oversleeps. */
  private static final long SLACK_NANOS = 1_000_000;

  private final int rank;
  private final SimSettings settings;
  private final StepTime stepTime;
  private final HostLink hostLink;
  private final PagedCache cache;
  private final Scheduler<GeneratedSequence> scheduler;
  private final CacheReporter reporter;
  private final EngineMetrics metrics;
  private final EngineMetrics.RankMetrics counters;
  private final Queue<Runnable> inbox = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean closed;
  private volatile boolean failed;

  /** The thread has ended: whoever asks for something more sees to it that it is answered. */
  private volatile boolean ended;

  private volatile boolean wedged;
  private volatile boolean slow;
  private volatile int running;
  private volatile int waiting;
  private volatile int usedBlocks;
  private volatile long queriedTokens;
  private volatile long hitTokens;
  private volatile long hostHitTokens;
  private long externalTokens;

  /**
   * Starts a rank.
   *
   * @param publisher of its cache's events, or null for none
   * @param coordinator that host memory is reported to, or null for none
   */
  public EngineCore(
      int rank, SimSettings settings, @Nullable EventPublisher publisher, @Nullable CacheEventReporter coordinator,
      EngineMetrics metrics) {
    this.rank = rank;
    this.settings = settings;
    this.metrics = metrics;
    this.counters = metrics.forRank(rank);
    this.stepTime = settings.engine().stepTime();
    this.hostLink = settings.kv().hostTier().link(settings.engine().coefficients());
    this.reporter = new CacheReporter(rank, settings, publisher, coordinator);
    this.cache = cache(settings, reporter);
    this.scheduler =
        new Scheduler<>(cache, hostTier(), settings.engine().maxBatchedTokens(), settings.engine().maxSequences());
    this.thread = Thread.ofPlatform().daemon().name("sim-rank-" + rank).start(this::run);
  }

  private @Nullable HostTier hostTier() {
    int blocksPerChunk = HostTierSettings.CHUNK_TOKENS / settings.engine().blockSize();
    int blocks = settings.kv().hostTier().blocks();
    return blocks == 0 ? null : new HostTier(blocks / blocksPerChunk, blocksPerChunk, reporter);
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int running() {
    return running;
  }

  @Override
  public int waiting() {
    return waiting;
  }

  @Override
  public int usedBlocks() {
    return usedBlocks;
  }

  /** Tokens of all sequences admitted so far. */
  public long queriedTokens() {
    return queriedTokens;
  }

  /** Of those, the ones found in the cache. */
  public long hitTokens() {
    return hitTokens;
  }

  /** And the ones found in host memory only. */
  public long hostHitTokens() {
    return hostHitTokens;
  }

  /** Leading blocks of {@code generation}, which is not submitted, in host memory; they count as used. */
  CompletableFuture<Integer> hostBlocks(GeneratedSequence generation) {
    CompletableFuture<Integer> done = new CompletableFuture<>();
    enqueue(() -> done.complete(scheduler.hostBlocks(generation)));
    return done;
  }

  /** Leading blocks of a prompt's keys in the cache, for another engine to copy. */
  public CompletableFuture<Integer> held(long[] keys) {
    CompletableFuture<Integer> done = new CompletableFuture<>();
    enqueue(() -> done.complete(cache.held(keys)));
    return done;
  }

  /** Takes sequences in; those that have been aborted already stay out. */
  void submit(List<GeneratedSequence> generations) {
    enqueue(() -> generations.stream().filter(generation -> generation.finish() == null).forEach(scheduler::add));
  }

  void abort(List<GeneratedSequence> generations) {
    enqueue(() ->
        generations.forEach(generation -> {
          if (generation.finish() == null) {
            scheduler.abort(generation);
            generation.abort();
          }
        }));
  }

  /** Admits {@code generation} with the blocks that another engine computed, once {@code onLoaded} has run. */
  void loaded(GeneratedSequence generation, Runnable onLoaded) {
    enqueue(() -> {
      onLoaded.run();
      scheduler.loaded(generation);
      generation.clearRemoteTokens();
    });
  }

  /** Computes what another engine computed of {@code generation} and could not be fetched. */
  void loadFailed(GeneratedSequence generation) {
    enqueue(() -> {
      generation.clearRemoteTokens();
      scheduler.loadFailed(generation);
    });
  }

  /** Ends {@code generation} with an error, unless it has ended. */
  void fail(GeneratedSequence generation, String why) {
    enqueue(() -> {
      scheduler.abort(generation);
      if (generation.finish() == null) {
        generation.fail(why);
      }
    });
  }

  /** Frees what {@code generation} holds after its end. */
  void free(GeneratedSequence generation) {
    enqueue(() -> scheduler.abort(generation));
  }

  /** Makes the rank take sequences and do nothing with them, or ends that. */
  public void setWedged(boolean on) {
    wedged = on;
    LockSupport.unpark(thread);
  }

  /** Makes steps take {@link #SLOWNESS} times as long and ten milliseconds more, or ends that. */
  public void setSlow(boolean on) {
    slow = on;
  }

  /** Whether events leave out from now on what is removed from the cache. */
  public void setStoresOnly(boolean on) {
    reporter.setStoresOnly(on);
  }

  /** Makes events leave out salts, or ends that. */
  public void setUnsalted(boolean on) {
    reporter.setUnsalted(on);
  }

  /** Makes the clock of its events fast, or ends that. */
  public void setFastClock(boolean on) {
    reporter.setFastClock(on);
  }

  /** Clears the cache unless it is in use; completes with whether it did. */
  public CompletableFuture<Boolean> clear() {
    CompletableFuture<Boolean> done = new CompletableFuture<>();
    enqueue(() -> done.complete(cache.clear()));
    return done;
  }

  /** What a session has kept is treated like all else from now on. */
  public void endSession(String session) {
    enqueue(() -> cache.endSession(session));
  }

  /** Stops at once; unfinished sequences are aborted, their events lost. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    reporter.close();
  }

  private void enqueue(Runnable command) {
    inbox.add(command);
    if (ended) {
      refuseAll();
    } else {
      LockSupport.unpark(thread);
    }
  }

  /** Whether it has ended by a fault of its own: the engine is not healthy any more, and all requests fail. */
  public boolean hasFailed() {
    return failed;
  }

  private void run() {
    try {
      loop();
    } catch (RuntimeException e) {
      failed = true;
      LOG.error("Rank {} failed", rank, e);
    } finally {
      ended = true;
      refuseAll();
    }
  }

  /** Ends everything that waits or comes: nobody is to wait for a rank that does nothing. */
  private synchronized void refuseAll() {
    try {
      for (Runnable command = inbox.poll(); command != null; command = inbox.poll()) {
        command.run();
      }
      for (GeneratedSequence each : scheduler.abortAll()) {
        if (failed) {
          each.fail("rank " + rank + " has failed; the engine's log says why");
        } else {
          each.abort();
        }
      }
    } catch (RuntimeException e) {
      LOG.error("What rank {} still had could not be ended", rank, e);
    }
  }

  private static PagedCache cache(SimSettings settings, CacheReporter reporter) {
    int blocks = settings.engine().blocks();
    int blockSize = settings.engine().blockSize();
    Speculation speculation = settings.engine().speculation();
    if (settings.kv().events().format().encoding() == Encoding.SGLANG) {
      return PagedCache.ofComputed(
          blocks, blockSize, settings.kv().sessions(), speculation == Speculation.LOOKAHEAD, reporter);
    }
    return speculation == Speculation.NONE
        // Of hybrid models' layers the first has a window or a state.
        ? PagedCache.ofGroups(blocks, blockSize, settings.engine().groups(), false, reporter)
        : PagedCache.ofSpeculation(blocks, blockSize, speculation, reporter);
  }

  private void loop() {
    long due = System.nanoTime();
    while (!closed) {
      for (Runnable command = inbox.poll(); command != null; command = inbox.poll()) {
        command.run();
      }
      if (wedged) {
        updateGauges();
        LockSupport.park(this);
        due = System.nanoTime();
        continue;
      }
      EngineStep<GeneratedSequence> step = scheduler.plan();
      if (step.sequences().isEmpty()) {
        if (settings.kv().events().format().encoding() == Encoding.SGLANG) {
          reporter.publish();
        }
        updateGauges();
        if (inbox.isEmpty() && !closed) {
          LockSupport.park(this);
        }
        due = System.nanoTime();
        continue;
      }
      updateGauges();
      due = await(step, due);
      scheduler.complete(step);
      reporter.publish();
      count(step);
      updateGauges();
      deliver(step);
    }
  }

  /** Lets the step's time pass; returns when it was due to end. */
  private long await(EngineStep<GeneratedSequence> step, long due) {
    long now = System.nanoTime();
    boolean slowed = slow;
    if (settings.engine().speed() == 0 && !slowed) {
      return now;
    }
    double real =
        settings.engine().speed() == 0 ? 0
            : (stepTime.millis(step) + hostLink.millis(step)) * 1e6 / settings.engine().speed();
    long takes = slowed ? (long) (real * SLOWNESS) + SLOW_STEP_NANOS : (long) real;
    long end = Math.max(due, now - SLACK_NANOS) + takes;
    for (long left = end - now; left > 0 && !closed; left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
    return end;
  }

  private void deliver(EngineStep<GeneratedSequence> step) {
    for (GeneratedSequence generation : step.sequences()) {
      if (generation.deliver()) {
        counters.firstToken().observe((System.nanoTime() - generation.arrivalNanos) / 1e9);
        counters.prompt().inc(generation.promptLength());
      }
      GeneratedSequence.FinishReason finish = generation.finish();
      if (finish != null && finish != GeneratedSequence.FinishReason.ABORT) {
        metrics.countFinished(rank, finish);
        counters.generated().inc(generation.delivered());
      }
    }
  }

  private void count(EngineStep<GeneratedSequence> step) {
    counters.queries().inc(scheduler.queriedTokens() - queriedTokens);
    counters.hits().inc(scheduler.hitTokens() - hitTokens);
    long missed = scheduler.queriedTokens() - queriedTokens - (scheduler.hitTokens() - hitTokens);
    counters.externalQueries().inc(settings.kv().hostTier().blocks() == 0 ? 0 : missed);
    counters.externalHits().inc(
        scheduler.externalTokens() - externalTokens + (scheduler.hostHitTokens() - hostHitTokens));
    queriedTokens = scheduler.queriedTokens();
    hitTokens = scheduler.hitTokens();
    hostHitTokens = scheduler.hostHitTokens();
    externalTokens = scheduler.externalTokens();
    counters.preemptions().inc(step.preempted());
  }

  private void updateGauges() {
    running = scheduler.running();
    waiting = scheduler.waiting();
    usedBlocks = cache.capacity() - cache.free();
  }
}
