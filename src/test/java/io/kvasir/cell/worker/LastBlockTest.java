package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.index.Chain;
import org.junit.jupiter.api.Test;

final class LastBlockTest {
  private static final int BLOCK = 16;

  private final ChangeCounter changes = new ChangeCounter();
  private final LastBlock lastBlock = new LastBlock(changes);

  private void answers(int times, int heldBlocks, int foundBlocks) {
    for (int i = 0; i < times; i++) {
      lastBlock.answered(heldBlocks * BLOCK, foundBlocks * BLOCK, BLOCK);
    }
  }

  @Test
  void answersOneBlockShort_inARow_showIt() {
    answers(2, 5, 4);
    assertThat(lastBlock.isRecomputed()).isFalse();
    answers(1, 1, 0);
    assertThat(lastBlock.isRecomputed()).isTrue();
    assertThat(changes.count()).isEqualTo(1);
  }

  @Test
  void wholeHitsBetween_beginAnew_andOtherMissesSayNothing() {
    answers(2, 5, 4);
    answers(1, 5, 5);
    answers(2, 5, 4);
    assertThat(lastBlock.isRecomputed()).isFalse();
    answers(4, 5, 1);
    answers(1, 9, 8);
    assertThat(lastBlock.isRecomputed()).isTrue();
  }

  /** An engine that comes back without a draft model, or in a later version. */
  @Test
  void wholeHits_inARow_endIt() {
    answers(3, 5, 4);
    answers(2, 5, 5);
    answers(1, 5, 4);
    answers(2, 5, 5);
    assertThat(lastBlock.isRecomputed()).isTrue();
    answers(1, 5, 5);
    assertThat(lastBlock.isRecomputed()).isFalse();
    assertThat(changes.count()).isEqualTo(2);
  }

  @Test
  void recomputation_takesOneBlockOfThoseThatAreLookedUp() {
    Chain goesOn = new Chain(new long[] {1, 2, 3}, BLOCK, new Chain.Lookahead(new short[] {4, 5, 6}, 1));
    assertThat(Recomputation.ofLastBlock(goesOn, false, 1).of(3)).isEqualTo(2);
    assertThat(Recomputation.ofLastBlock(goesOn, false, 1).of(2)).isEqualTo(1);
    assertThat(Recomputation.ofLastBlock(goesOn, false, 1).of(0)).isZero();
    Chain ends = new Chain(new long[] {1, 2, 3}, BLOCK, new Chain.Lookahead(new short[] {4, 5}, 0));
    assertThat(Recomputation.ofLastBlock(ends, false, 1).of(3)).as("the last token is looked up nowhere").isEqualTo(1);
    assertThat(Recomputation.ofLastBlock(ends, false, 1).of(2)).isEqualTo(1);
    assertThat(Recomputation.ofLastBlock(ends, true, 1).of(3)).as("a hybrid model's looks one further").isEqualTo(2);
    assertThat(Recomputation.NONE.of(3)).isEqualTo(3);
  }

  @Test
  void ofAnEngineWithLargerBlocks_onlyWholeOnesCount() {
    Chain goesOn = new Chain(new long[8], BLOCK, new Chain.Lookahead(new short[8], 1));
    Chain ends = new Chain(new long[8], BLOCK, new Chain.Lookahead(new short[7], 0));
    assertThat(Recomputation.ofParts(goesOn, 4).of(8)).isEqualTo(8);
    assertThat(Recomputation.ofParts(goesOn, 4).of(7)).isEqualTo(4);
    assertThat(Recomputation.ofParts(goesOn, 4).of(3)).isZero();
    assertThat(Recomputation.ofParts(ends, 4).of(8)).as("its last block has the prompt's last token").isEqualTo(4);
    assertThat(Recomputation.ofParts(ends, 3).of(8)).isEqualTo(6);
    assertThat(Recomputation.ofLastBlock(goesOn, false, 4).of(8)).isEqualTo(4);
    assertThat(Recomputation.ofLastBlock(goesOn, false, 4).of(7)).isZero();
    assertThat(Recomputation.ofLastBlock(ends, false, 4).of(8)).isZero();
  }
}
