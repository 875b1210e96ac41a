package io.kvasir.enginemodel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The scheduler of an engine: continuous batching with chunked prefill, first come first served, after vLLM's V1
 * scheduler ({@code v1/core/sched/scheduler.py}).
 *
 * <p>{@link #plan()} fills the next iteration: running sequences first, each with what it has left to
 * compute (one token when it decodes), then waiting ones as long as the token budget, the sequence limit
 * and the free blocks last. When no block is free, the sequence admitted last is
 * preempted, and starts over later. Blocks in host memory and not in the cache are loaded within the iteration that
 * admits the sequence, as LMCache's connector does. After the iteration's time, {@link #complete(EngineStep)} samples
 * the next tokens and releases sequences that have ended. Not thread-safe; independent of any clock.
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

  /** Removes a sequence, whatever its state, and releases its blocks. Idempotent. */
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
   * Notes that the copy of {@link Sequence#load} is complete: the blocks are cached, and the sequence continues where
   * the copy ends. Does nothing when it was aborted.
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
   * Notes that the copy of {@link Sequence#load} failed: the sequence waits again without blocks, and computes the
   * tokens that are not among its {@link Sequence#remoteTokens()} by then. Does nothing when it was aborted.
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

  /** Removes all sequences and returns them. */
  public List<S> abortAll() {
    List<S> all = new ArrayList<>(running);
    all.addAll(waiting);
    all.addAll(loading);
    all.forEach(this::abort);
    return all;
  }

  /**
   * Plans the next iteration. Blocks for it are allocated, and full ones cached where the cache shares them already,
   * now. Empty when no sequence waits or runs, or when the first one waiting does not fit into the whole cache.
   */
  public EngineStep<S> plan() {
    EngineStep<S> step = new EngineStep<>();
    cache.beginStep();
    planRunning(step);
    if (step.preempted() == 0) {
      planWaiting(step);
    }
    return step;
  }

  /** Completes an iteration: its tokens count as computed, sequences sample and may end. */
  public void complete(EngineStep<S> step) {
    for (S sequence : step.sequences) {
      if (!sequence.running) {
        continue; // aborted while the step ran
      }
      boolean prefilling = sequence.computed < sequence.promptLength();
      sequence.computed += sequence.chunk;
      if (host != null && prefilling) {
        host.copy(sequence, Math.min(sequence.computed, sequence.promptLength()) / cache.blockSize());
      }
      boolean ended = sequence.computed == sequence.length() && sequence.sample();
      if (prefilling || ended) {
        cache.computed(sequence);
      }
      if (ended) {
        running.remove(sequence);
        sequence.running = false;
        cache.ended(sequence);
        if (!sequence.keepsBlocks()) {
          cache.release(sequence);
        }
      }
    }
  }

  /**
   * The number of iterations that can follow {@code step}, which runs, in which each sequence decodes a token and
   * nothing else happens: none waits, begins or ends, and no block is taken or filled. {@link #repeat} completes them
   * with less work than one by one.
   */
  public int repeats(EngineStep<S> step) {
    if (!waiting.isEmpty() || !step.decodesOnly() || step.sequences.size() < running.size()) {
      return 0;
    }
    int repeats = Integer.MAX_VALUE;
    for (int i = 0; i < running.size() && repeats > 0; i++) {
      S sequence = running.get(i);
      int room = cache.plainTokens(sequence, sequence.computed + sequence.chunk);
      repeats = Math.min(repeats, Math.min(room, sequence.plainSamples()));
    }
    return repeats;
  }

  /** Completes a step and those that follow it but the last, {@code count} in all, at most {@link #repeats}. */
  public void repeat(EngineStep<S> step, int count) {
    for (S sequence : step.sequences) {
      sequence.computed += count;
      sequence.samplePlain(count);
    }
  }

  /** The number of sequences admitted and not ended. */
  public int running() {
    return running.size();
  }

  /** The number of sequences not yet admitted, preempted, or waiting for a copy from another engine. */
  public int waiting() {
    return waiting.size() + loading.size();
  }

  /** Whether any sequence waits for a copy from another engine. */
  public boolean isLoading() {
    return !loading.isEmpty();
  }

  /** The number of tokens of all admissions so far: the denominator of hit rates. */
  public long queriedTokens() {
    return queriedTokens;
  }

  /** The number of tokens found in the cache at admission so far. */
  public long hitTokens() {
    return hitTokens;
  }

  /** The number of tokens found in host memory and not in the cache at admission so far. */
  public long hostHitTokens() {
    return hostHitTokens;
  }

  /** The number of tokens copied from other engines so far. */
  public long externalTokens() {
    return externalTokens;
  }

  @SuppressWarnings("ReferenceEquality") // sequences have identity, not value
  private void planRunning(EngineStep<S> step) {
    for (int i = 0; i < running.size() && step.tokens() < tokenBudget; i++) {
      S sequence = running.get(i);
      int most = Math.min(sequence.length() - sequence.computed, tokenBudget - step.tokens());
      int chunk = cache.chunk(sequence, sequence.computed, most, tokenBudget);
      if (chunk == 0) {
        continue; // what is left of the budget does not reach the end of a block
      }
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

  /** Prevents a deadlock on blocks held by waiting sequences: when none runs, the first of them that can resumes. */
  private void unlock(EngineStep<S> step) {
    if (running.isEmpty()) {
      for (S sequence : List.copyOf(waiting)) {
        if (sequence.blockCount > 0 && resume(sequence, step)) {
          return;
        }
      }
    }
  }

  /** Admits a sequence without blocks; false when too few are free. */
  private boolean admit(S sequence, EngineStep<S> step) {
    int hits = sequence.findsPrefix() ? cache.hits(sequence) : 0;
    int computed = hits * cache.blockSize();
    int held = sequence.findsPrefix() ? Math.max(computed, hostTokens(sequence)) : 0;
    int remote = sequence.remoteTokens();
    boolean loads = remote > held;
    int chunk = cache.chunk(
        sequence, held, Math.min(sequence.length() - held, tokenBudget - step.tokens()), tokenBudget);
    if (chunk == 0) {
      return false;
    }
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

  /** The number of leading blocks of any sequence in host memory; they count as used. */
  public int hostBlocks(S sequence) {
    return host == null ? 0 : host.hits(sequence, cache.blockSize());
  }

  /** The number of leading tokens in host memory, in full blocks; at least one token is left to compute. */
  private int hostTokens(S sequence) {
    int blockSize = cache.blockSize();
    int max = (sequence.length() - 1) / blockSize;
    return Math.min(max, hostBlocks(sequence)) * blockSize;
  }

  /** Resumes a sequence whose first tokens were copied; false when too few blocks are free. */
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
