package io.kvasir.cell.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class PromptBlockSizeTest {
  private final PromptBlockSize size = new PromptBlockSize();
  private long now = -7;

  private int after(int... seen) {
    for (int tokens : seen) {
      size.seen(Chain.of(BlockHash.in(null, null), new int[100], tokens));
    }
    now += Duration.ofSeconds(20).toNanos();
    return size.tokens(now);
  }

  @Test
  void sizeOfMost_counts() {
    assertThat(after()).isZero();
    assertThat(after(8)).isEqualTo(8);
    assertThat(after(64, 64, 64)).as("since the model is known").isEqualTo(64);
    assertThat(after()).isEqualTo(64);
    assertThat(after(16, 64, 16)).as("another model's").isEqualTo(64);
    assertThat(after(16, 64, 16, 16)).isEqualTo(16);
  }

  @Test
  void firstPrompt_isToldAtOnce() {
    AtomicInteger told = new AtomicInteger();
    size.whenKnown(() -> told.set(size.current()));
    size.seen(Chain.of(BlockHash.in(null, null), new int[100], 16));
    assertThat(told).hasValue(16);
    size.whenKnown(() -> told.set(-1));
    assertThat(after(16, 32)).isEqualTo(16);
    assertThat(told).hasValue(16);
  }

  /** Clients decide what most prompts are. */
  @Test
  void changesInARow_comeLessAndLessOften() {
    int before = after(16);
    int changes = 0;
    for (int second = 0; second < 7200; second++) {
      for (int i = 0; i < 3; i++) {
        size.seen(Chain.of(BlockHash.in(null, null), new int[100], before == 16 ? 8 : 16));
      }
      now += Duration.ofSeconds(1).toNanos();
      int found = size.tokens(now);
      changes += found == before ? 0 : 1;
      before = found;
    }
    assertThat(changes).isBetween(8, 20);
  }

  @Test
  void promptsWithoutBlocks_andTexts_sayNothing() {
    size.seen(Chain.EMPTY);
    size.seen(new Chain(new long[] {1, 2}, 8));
    assertThat(after(200)).isZero();
  }
}
