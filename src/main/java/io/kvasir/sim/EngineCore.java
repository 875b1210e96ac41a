package io.kvasir.sim;

import io.kvasir.sim.engine.CacheListener;
import io.kvasir.sim.engine.PagedCache;
import io.kvasir.sim.engine.Scheduler;
import io.kvasir.sim.engine.Sequence;
import io.kvasir.sim.engine.Step;
import io.kvasir.sim.engine.StepTime;
import io.kvasir.sim.publisher.CacheEvent;
import io.kvasir.sim.publisher.EventEncoder;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.publisher.EventPublisher;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One data-parallel rank: a thread that plans an iteration, lets its time pass, completes it, sends its
 * cache events as one batch and then shows the new tokens. Everything else asks through its inbox.
 *
 * <p>As in vLLM an idle engine takes no steps, so a cleared cache is told of only when the next request
 * causes one. SGLang tells when idle.
 */
final class EngineCore implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EngineCore.class);
  private static final String MEDIUM = "GPU";
  private static final double SLOWNESS = 10;
  private static final long SLOW_STEP_NANOS = 10_000_000;
  /** How late a step may be and the next still keep to the schedule: what sleeping oversleeps. */
  private static final long SLACK_NANOS = 1_000_000;

  private final int rank;
  private final SimSettings settings;
  private final StepTime stepTime;
  private final PagedCache cache;
  private final Scheduler<Generation> scheduler;
  private final @Nullable EventPublisher publisher;
  private final EventEncoder encoder;
  private final EngineMetrics metrics;
  private final EngineMetrics.OfRank counters;
  private final Queue<Runnable> inbox = new ConcurrentLinkedQueue<>();
  private final List<CacheEvent> events = new ArrayList<>();
  private final Thread thread;
  private volatile boolean closed;
  private volatile boolean wedged;
  private volatile boolean slow;
  private volatile int running;
  private volatile int waiting;
  private volatile int usedBlocks;
  private volatile long queriedTokens;
  private volatile long hitTokens;
  private long externalTokens;

  EngineCore(int rank, SimSettings settings, @Nullable EventPublisher publisher, EngineMetrics metrics) {
    this.rank = rank;
    this.settings = settings;
    this.publisher = publisher;
    this.metrics = metrics;
    this.counters = metrics.ofRank(rank);
    this.stepTime = settings.time();
    this.encoder = new EventEncoder(settings.events().format());
    this.cache = new PagedCache(settings.blocks(), settings.blockSize(), new Recorder());
    this.scheduler = new Scheduler<>(cache, settings.maxBatchedTokens(), settings.maxSequences());
    if (settings.events().format().encoding() == Encoding.SGLANG) {
      events.add(new CacheEvent.Cleared());
    }
    this.thread = Thread.ofPlatform().daemon().name("sim-rank-" + rank).start(this::run);
  }

  int rank() {
    return rank;
  }

  /** Sequences admitted. */
  int running() {
    return running;
  }

  /** Sequences waiting for admission. */
  int waiting() {
    return waiting;
  }

  /** Blocks held by sequences. */
  int usedBlocks() {
    return usedBlocks;
  }

  /** Tokens of all sequences admitted so far. */
  long queriedTokens() {
    return queriedTokens;
  }

  /** Of those, the ones found in the cache. */
  long hitTokens() {
    return hitTokens;
  }

  /** Takes sequences in; those that have been aborted already stay out. */
  void submit(List<Generation> generations) {
    tell(() -> generations.stream().filter(generation -> generation.finish() == null).forEach(scheduler::add));
  }

  void abort(List<Generation> generations) {
    tell(() ->
        generations.forEach(generation -> {
          if (generation.finish() == null) {
            scheduler.abort(generation);
            generation.abort();
          }
        }));
  }

  /** What another engine computed of {@code generation} is here. */
  void loaded(Generation generation, Runnable arrived) {
    tell(() -> {
      arrived.run();
      scheduler.loaded(generation);
      generation.computesTheRest();
    });
  }

  /** What another engine computed of {@code generation} cannot be had: it is computed here. */
  void notLoaded(Generation generation) {
    tell(() -> {
      generation.computesTheRest();
      scheduler.notLoaded(generation);
    });
  }

  /** Ends {@code generation} with an error, unless it has ended. */
  void fail(Generation generation, String why) {
    tell(() -> {
      scheduler.abort(generation);
      if (generation.finish() == null) {
        generation.fail(why);
      }
    });
  }

  /** Frees what {@code generation} holds after its end. */
  void free(Generation generation) {
    tell(() -> scheduler.abort(generation));
  }

  /** Whether it stands still: sequences are taken and nothing becomes of them. */
  void wedge(boolean stands) {
    wedged = stands;
    LockSupport.unpark(thread);
  }

  /** Whether its steps take {@link #SLOWNESS} times as long, and ten milliseconds more. */
  void slow(boolean drags) {
    slow = drags;
  }

  /** Forgets the cache unless it is in use; tells whether it did. */
  CompletableFuture<Boolean> clear() {
    CompletableFuture<Boolean> done = new CompletableFuture<>();
    tell(() -> done.complete(cache.clear()));
    return done;
  }

  /** Stops at once; answers in the making are aborted, their events lost. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (publisher != null) {
      publisher.close();
    }
  }

  private void tell(Runnable command) {
    inbox.add(command);
    LockSupport.unpark(thread);
  }

  private void run() {
    try {
      loop();
    } catch (RuntimeException e) {
      LOG.error("Rank {} died", rank, e);
    } finally {
      inbox.forEach(Runnable::run);
      scheduler.abortAll().forEach(Generation::abort);
    }
  }

  private void loop() {
    long due = System.nanoTime();
    while (!closed) {
      for (Runnable command = inbox.poll(); command != null; command = inbox.poll()) {
        command.run();
      }
      if (wedged) {
        show();
        LockSupport.park(this);
        due = System.nanoTime();
        continue;
      }
      Step<Generation> step = scheduler.plan();
      if (step.sequences().isEmpty()) {
        if (settings.events().format().encoding() == Encoding.SGLANG) {
          publish();
        }
        show();
        if (inbox.isEmpty() && !closed) {
          LockSupport.park(this);
        }
        due = System.nanoTime();
        continue;
      }
      show();
      due = await(step, due);
      scheduler.complete(step);
      publish();
      count(step);
      show();
      deliver(step);
    }
  }

  /** Lets the step's time pass; returns when it was due to end. */
  private long await(Step<Generation> step, long due) {
    long now = System.nanoTime();
    boolean drags = slow;
    if (settings.speed() == 0 && !drags) {
      return now;
    }
    double real = settings.speed() == 0 ? 0 : stepTime.millis(step) * 1e6 / settings.speed();
    long takes = drags ? (long) (real * SLOWNESS) + SLOW_STEP_NANOS : (long) real;
    long end = Math.max(due, now - SLACK_NANOS) + takes;
    for (long left = end - now; left > 0 && !closed; left = end - System.nanoTime()) {
      LockSupport.parkNanos(this, left);
    }
    return end;
  }

  private void publish() {
    if (events.isEmpty()) {
      return;
    }
    if (publisher != null) {
      publisher.publish(encoder.encode(System.currentTimeMillis() / 1e3, events, rank));
    }
    events.clear();
  }

  private void deliver(Step<Generation> step) {
    for (Generation generation : step.sequences()) {
      if (generation.deliver()) {
        counters.firstToken().observe((System.nanoTime() - generation.arrived) / 1e9);
        counters.prompt().inc(generation.promptLength());
      }
      Generation.Finish finish = generation.finish();
      if (finish != null && finish != Generation.Finish.ABORT) {
        metrics.finished(rank, finish);
        counters.generated().inc(generation.delivered());
      }
    }
  }

  private void count(Step<Generation> step) {
    counters.queries().inc(scheduler.queriedTokens() - queriedTokens);
    counters.hits().inc(scheduler.hitTokens() - hitTokens);
    queriedTokens = scheduler.queriedTokens();
    hitTokens = scheduler.hitTokens();
    counters.externalHits().inc(scheduler.externalTokens() - externalTokens);
    externalTokens = scheduler.externalTokens();
    counters.preemptions().inc(step.preempted());
  }

  private void show() {
    running = scheduler.running();
    waiting = scheduler.waiting();
    usedBlocks = cache.capacity() - cache.free();
  }

  /** Turns what the cache does into events of the step. */
  private final class Recorder implements CacheListener {
    @Override
    public void stored(Sequence sequence, int from, int to) {
      if (publisher == null) {
        return;
      }
      Generation generation = (Generation) sequence;
      int blockSize = settings.blockSize();
      events.add(
          new CacheEvent.Stored(
              from == 0 ? null : generation.key(from - 1),
              generation.keys(from, to),
              generation.tokens(from * blockSize, to * blockSize),
              blockSize,
              generation.lora,
              generation.salt,
              MEDIUM));
    }

    @Override
    public void removed(long key) {
      if (publisher != null) {
        events.add(new CacheEvent.Removed(new long[] {key}, MEDIUM));
      }
    }

    @Override
    public void cleared() {
      if (publisher != null) {
        events.add(new CacheEvent.Cleared());
      }
    }
  }
}
