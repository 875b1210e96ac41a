package io.kvasir.cell.view;

import io.kvasir.index.Chain;
import java.util.concurrent.atomic.LongAdder;

/**
 * Into how many tokens the prompts of a cell are cut, as most of late are: where models of several sizes are asked for,
 * the index serves one of them. Any thread may tell of a prompt; one thread asks.
 */
public final class PromptBlockSize {
  private final LongAdder same = new LongAdder();
  private final LongAdder different = new LongAdder();
  private volatile int current;
  private volatile int other;

  /** A prompt came. Chains of texts, whose tokens are not known, do not count. */
  void seen(Chain chain) {
    if (chain.lookahead() == null || chain.length() == 0) {
      return;
    }
    int size = chain.blockSize();
    if (size == current) {
      same.increment();
    } else {
      other = size;
      different.increment();
    }
  }

  /** Tokens in a block, 0 until a prompt has come; another size when more than two thirds have had it since. */
  public int tokens() {
    if (different.sumThenReset() > 2 * same.sumThenReset()) {
      current = other;
    }
    return current;
  }
}
