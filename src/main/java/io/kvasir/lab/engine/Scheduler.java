package io.kvasir.lab.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Continuous batching with chunked prefill, first come first served, after vLLM's V1 scheduler
 * ({@code v1/core/sched/scheduler.py}).
 *
 * <p>{@link #plan()} fills the next iteration: running sequences first, each with what it has left to
 * compute (one token when it decodes), then waiting ones as long as the token budget, the sequence limit
 * and the free blocks last. A sequence that finds no block takes them from the one admitted last,
 * which starts over later. What is in host memory and not in the cache is loaded within the iteration that admits the
 * sequence, as LMCache's connector does. When the iteration's time has passed, {@link #complete(EngineStep)} samples
 * the next tokens and frees what has ended. Not thread-safe; knows no time.
 */
public final class Scheduler<S extends Sequence> {
  private final PagedCache cache;
  private final @Nullable HostTier host;
  private final int tokenBudget;
  private final int maxSequences;
  private final List<S> running = new ArrayList<>();
  private final Deque<S> waiting = new ArrayDeque<>();
  private final Set<S> loading = new LinkedHashSet<>();
  private long queriedTokens;
  private long hitTokens;
  private long hostHitTokens;
  private long externalTokens;

  /**
   * A scheduler over {@code cache} that computes at most {@code tokenBudget} tokens of at most
   * {@code maxSequences} sequences per iteration.
   */
  public Scheduler(PagedCache cache, int tokenBudget, int maxSequences) {
    this(cache, null, tokenBudget, maxSequences);
  }

  /** The same with host memory beside the cache; null for none. */
  public Scheduler(PagedCache cache, @Nullable HostTier host, int tokenBudget, int maxSequences) {
    this.cache = cache;
    this.host = host;
    this.tokenBudget = tokenBudget;
    this.maxSequences = maxSequences;
  }

  /** Queues a sequence that was never added before. */
  public void add(S sequence) {
    sequence.waiting = true;
    waiting.addLast(sequence);
  }

  /** Takes a sequence out, wherever it is, and frees its blocks. Idempotent. */
  public void abort(S sequence) {
    if (sequence.waiting) {
      waiting.remove(sequence);
      sequence.waiting = false;
    }
    if (sequence.running) {
      running.remove(sequence);
      sequence.running = false;
    }
    loading.remove(sequence);
    cache.release(sequence);
  }

  /**
   * What {@link Sequence#load} was to copy is there: its blocks are announced, and it goes on where the copy ends.
   * Nothing happens when it was aborted meanwhile.
   */
  public void loaded(S sequence) {
    if (loading.remove(sequence)) {
      int tokens = sequence.remoteTokens();
      cache.makeFindable(sequence, tokens);
      externalTokens += tokens - sequence.computed;
      sequence.admitted(Math.min(tokens, sequence.length() - 1));
      requeue(sequence);
    }
  }

  /**
   * What {@link Sequence#load} was to copy cannot be had: the sequence waits again with nothing, and computes what its
   * {@link Sequence#remoteTokens()} leave. Nothing happens when it was aborted meanwhile.
   */
  public void loadFailed(S sequence) {
    if (loading.remove(sequence)) {
      cache.release(sequence);
      requeue(sequence);
    }
  }

  private void requeue(S sequence) {
    sequence.waiting = true;
    waiting.addFirst(sequence);
  }

  /** Takes everything out and returns it. */
  public List<S> abortAll() {
    List<S> all = new ArrayList<>(running);
    all.addAll(waiting);
    all.addAll(loading);
    all.forEach(this::abort);
    return all;
  }

  /**
   * Who is computed next. Blocks for it are assigned, and full ones announced, now. Empty when nothing
   * waits or runs, or when the first in the queue does not fit into the whole cache.
   */
  public EngineStep<S> plan() {
    EngineStep<S> step = new EngineStep<>();
    planRunning(step);
    if (step.preempted() == 0) {
      planWaiting(step);
    }
    return step;
  }

  /** The time of {@code step} has passed: what it computed counts, sequences sample and may end. */
  public void complete(EngineStep<S> step) {
    for (S sequence : step.sequences()) {
      if (!sequence.running) {
        continue; // aborted while the step ran
      }
      boolean reads = sequence.computed < sequence.promptLength();
      sequence.computed += sequence.chunk;
      if (host != null && reads) {
        host.copy(sequence, Math.min(sequence.computed, sequence.promptLength()) / cache.blockSize());
      }
      if (sequence.computed == sequence.length() && sequence.sample()) {
        running.remove(sequence);
        sequence.running = false;
        if (!sequence.keepsBlocks()) {
          cache.release(sequence);
        }
      }
    }
  }

  /** Sequences admitted and not ended. */
  public int running() {
    return running.size();
  }

  /** Sequences not yet admitted, preempted, or waiting for what another engine computed. */
  public int waiting() {
    return waiting.size() + loading.size();
  }

  /** Whether some wait for what is being copied from other engines. */
  public boolean isLoading() {
    return !loading.isEmpty();
  }

  /** Tokens of all sequences admitted so far; what hits are counted against. */
  public long queriedTokens() {
    return queriedTokens;
  }

  /** Tokens found in the cache at admission so far. */
  public long hitTokens() {
    return hitTokens;
  }

  /** Tokens found in host memory and not in the cache at admission so far. */
  public long hostHitTokens() {
    return hostHitTokens;
  }

  /** Tokens copied from other engines so far. */
  public long externalTokens() {
    return externalTokens;
  }

  @SuppressWarnings("ReferenceEquality") // a sequence is who it is, not what it says
  private void planRunning(EngineStep<S> step) {
    for (int i = 0; i < running.size() && step.tokens() < tokenBudget; i++) {
      S sequence = running.get(i);
      int chunk = Math.min(sequence.length() - sequence.computed, tokenBudget - step.tokens());
      while (!cache.extend(sequence, sequence.computed + chunk)) {
        S last = running.removeLast();
        last.running = false;
        cache.release(last);
        last.waiting = true;
        waiting.addFirst(last);
        step.countPreemption();
        if (last == sequence) {
          return;
        }
      }
      step.add(sequence, chunk);
    }
  }

  private void planWaiting(EngineStep<S> step) {
    while (!waiting.isEmpty() && step.tokens() < tokenBudget && running.size() < maxSequences) {
      S sequence = waiting.getFirst();
      if (sequence.blockCount > 0 ? !resume(sequence, step) : !admit(sequence, step)) {
        unlock(step);
        return;
      }
    }
  }

  /** Blocks held by those that wait must not stop everyone: when nobody runs, the first of them goes ahead. */
  private void unlock(EngineStep<S> step) {
    if (running.isEmpty()) {
      for (S sequence : List.copyOf(waiting)) {
        if (sequence.blockCount > 0 && resume(sequence, step)) {
          return;
        }
      }
    }
  }

  /** Admits one that begins; false when there are too few blocks. */
  private boolean admit(S sequence, EngineStep<S> step) {
    int hits = cache.hits(sequence);
    int computed = hits * cache.blockSize();
    int held = Math.max(computed, hostTokens(sequence));
    int remote = sequence.remoteTokens();
    boolean loads = remote > held;
    int chunk = Math.min(sequence.length() - held, tokenBudget - step.tokens());
    if (!(loads ? cache.reserve(sequence, hits, remote) : cache.admit(sequence, hits, held + chunk))) {
      return false;
    }
    waiting.removeFirst();
    sequence.waiting = false;
    queriedTokens += sequence.length();
    hitTokens += computed;
    if (loads) {
      sequence.computed = computed;
      loading.add(sequence);
      sequence.load(computed);
    } else {
      hostHitTokens += held - computed;
      step.load(held - computed);
      sequence.admitted(held);
      run(sequence, chunk, step);
    }
    return true;
  }

  /** Leading blocks of any sequence in host memory; they count as used. */
  public int hostBlocks(S sequence) {
    return host == null ? 0 : host.hits(sequence, cache.blockSize());
  }

  /** Leading tokens in host memory, in full blocks that leave one token to compute. */
  private int hostTokens(S sequence) {
    int blockSize = cache.blockSize();
    int most = (sequence.length() - 1) / blockSize;
    return Math.min(most, hostBlocks(sequence)) * blockSize;
  }

  /** Admits one whose first tokens were copied; false when there are too few blocks. */
  private boolean resume(S sequence, EngineStep<S> step) {
    int chunk = Math.min(sequence.length() - sequence.computed, tokenBudget - step.tokens());
    if (!cache.extend(sequence, sequence.computed + chunk)) {
      return false;
    }
    waiting.remove(sequence);
    sequence.waiting = false;
    run(sequence, chunk, step);
    return true;
  }

  private void run(S sequence, int chunk, EngineStep<S> step) {
    sequence.running = true;
    running.add(sequence);
    step.add(sequence, chunk);
  }
}
