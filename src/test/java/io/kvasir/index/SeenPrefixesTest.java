package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class SeenPrefixesTest {
  private static final int BLOCK = 16;
  private static final int STEP = SeenPrefixes.STEP_TOKENS / BLOCK;

  private final SplittableRandom random = new SplittableRandom(7);
  private final SeenPrefixes seen = new SeenPrefixes(64);

  @Test
  void depth_nothingSeen_isWhatIsKnownAnyway() {
    assertThat(seen.depth(prompt(100), 0)).isZero();
    assertThat(seen.depth(prompt(100), 17)).isEqualTo(17);
    assertThat(seen.depth(Chain.EMPTY, 0)).isZero();
    assertThat(seen.bytes()).isZero();
  }

  @Test
  void depth_promptSeen_isAllWholeSteps() {
    for (int length = 0; length < 200; length++) {
      Chain prompt = prompt(length);
      seen.add(prompt);
      assertThat(seen.depth(prompt, 0)).as("%d blocks", length).isEqualTo(length / STEP * STEP);
    }
  }

  @Test
  void depth_everyLengthOfAKnownPrefix_isThatPrefix() {
    for (int known = 0; known < 300; known += 7) {
      Chain first = prompt(known);
      seen.add(first);
      assertThat(seen.depth(continued(first, 300), 0)).as("%d blocks known", known).isEqualTo(known / STEP * STEP);
      assertThat(seen.depth(continued(first, 300), known)).as("the rest is known otherwise").isEqualTo(known);
    }
  }

  @Test
  void depth_largeBlocks_areStepsThemselves() {
    Chain prompt = new Chain(prompt(9).hashes(), 256);
    seen.add(prompt);

    assertThat(seen.depth(prompt, 0)).isEqualTo(9);
  }

  /** A turn adds what is new of it, so that a whole conversation is known after its last turn. */
  @Test
  void add_conversation_isKnownWholeAfterEachTurn() {
    Chain conversation = prompt(3);
    for (int turn = 0; turn < 200; turn++) {
      conversation = continued(conversation, conversation.length() + 11);
      seen.add(conversation);
      assertThat(seen.depth(conversation, 0)).isEqualTo(conversation.length() / STEP * STEP);
    }
  }

  /** The limit of memory holds however much is seen, and so does the share of wrong answers. */
  @Test
  void add_moreThanFits_forgetsTheOldestAndStaysBounded() {
    Chain old = prompt(1000);
    Chain inUse = prompt(1000);
    seen.add(old);
    seen.add(inUse);
    long most = 0;
    for (int i = 0; i < 64 * 1024; i++) {
      seen.add(prompt(100 * STEP));
      if (i % 1000 == 0) {
        seen.add(inUse);
      }
      most = Math.max(most, seen.bytes());
    }

    assertThat(most).isEqualTo(8L << 20).isEqualTo(seen.bytes());
    assertThat(seen.depth(old, 0)).as("not seen for long").isLessThan(2 * STEP);
    assertThat(seen.depth(inUse, 0)).as("seen again and again").isEqualTo(1000);
    int wrong = 0;
    for (int i = 0; i < 100_000; i++) {
      wrong += seen.depth(prompt(STEP), 0) > 0 ? 1 : 0;
    }
    assertThat(wrong / 100_000.0).as("steps that were never seen and are found").isLessThan(0.003);
  }

  private Chain prompt(int blocks) {
    return new Chain(random.longs(blocks).toArray(), BLOCK);
  }

  private Chain continued(Chain prompt, int blocks) {
    long[] hashes = Arrays.copyOf(prompt.hashes(), blocks);
    for (int i = prompt.length(); i < blocks; i++) {
      hashes[i] = random.nextLong();
    }
    return new Chain(hashes, prompt.blockSize());
  }
}
