package io.kvasir.cell.view;

import io.kvasir.index.Chain;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Into how many tokens the prompts of a cell are cut, as most of late are: where models of several sizes are asked for,
 * the index serves one of them. A change has all that engines hold read again, and clients can make it: each is
 * followed by a pause, twice as long as the one before it. Any thread may tell of a prompt; one thread asks.
 */
public final class PromptBlockSize {
  private static final long FIRST_PAUSE_NANOS = Duration.ofSeconds(5).toNanos();
  private static final long LONGEST_PAUSE_NANOS = Duration.ofMinutes(10).toNanos();

  private final LongAdder same = new LongAdder();
  private final LongAdder different = new LongAdder();
  private final AtomicInteger current = new AtomicInteger();
  private volatile int other;
  private volatile Runnable whenKnown = () -> { };
  private boolean changed;
  private long changedNanos;
  private long pauseNanos = FIRST_PAUSE_NANOS;

  /** Runs something when the first prompt has come, on its thread. */
  public void whenKnown(Runnable action) {
    whenKnown = action;
  }

  /** A prompt came. Chains of texts, whose tokens are not known, do not count. */
  void seen(Chain chain) {
    if (chain.lookahead() == null || chain.length() == 0) {
      return;
    }
    int size = chain.blockSize();
    int now = current.get();
    if (size == now) {
      same.increment();
    } else if (now == 0 && current.compareAndSet(0, size)) {
      whenKnown.run();
    } else {
      other = size;
      different.increment();
    }
  }

  /** Tokens in a block, as {@link #tokens} found last. */
  int current() {
    return current.get();
  }

  /**
   * Tokens in a block, 0 until a prompt has come; another size when more than two thirds have had it since this was
   * asked, and the pause after the last change is over.
   */
  public int tokens(long nowNanos) {
    boolean most = different.sumThenReset() > 2 * same.sumThenReset();
    if (most && (!changed || nowNanos - changedNanos >= pauseNanos)) {
      pauseNanos = changed ? Math.min(2 * pauseNanos, LONGEST_PAUSE_NANOS) : pauseNanos;
      changed = true;
      changedNanos = nowNanos;
      current.set(other);
    }
    return current.get();
  }
}
