package io.kvasir.cell.view;

import io.kvasir.index.Chain;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Into how many tokens the prompts of a cell are cut, as most of late are: where models of several sizes are asked for,
 * the index serves one of them. Any thread may tell of a prompt; one thread asks.
 */
public final class PromptBlockSize {
  private final LongAdder same = new LongAdder();
  private final LongAdder different = new LongAdder();
  private final AtomicInteger current = new AtomicInteger();
  private volatile int other;
  private volatile Runnable whenKnown = () -> { };

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

  /** Tokens in a block, 0 until a prompt has come; another size when more than two thirds have had it since. */
  public int tokens() {
    if (different.sumThenReset() > 2 * same.sumThenReset()) {
      current.set(other);
    }
    return current.get();
  }
}
