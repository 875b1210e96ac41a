package io.kvasir.programs;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.index.Chain;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class PrefixProgramsTest {
  private static final int BLOCK = 16;
  private static final int STEP = PrefixPrograms.STEP_TOKENS / BLOCK;

  private final PrefixPrograms programs = new PrefixPrograms(3);

  @Test
  void of_aPromptThatGoesOn_isTheSameProgram() {
    long[] talk = talk(1);

    String name = programs.of("t", first(talk, 5 * STEP + 3));

    assertThat(programs.of("t", first(talk, 5 * STEP + 9))).isEqualTo(name);
    assertThat(programs.of("t", first(talk, 7 * STEP))).isEqualTo(name);
    assertThat(programs.of("t", first(talk, 7 * STEP))).as("the same again").isEqualTo(name);
    assertThat(programs.of("t", first(talk, 40 * STEP))).isEqualTo(name);
  }

  @Test
  void of_otherPrompts_areOtherPrograms_evenBehindACommonBeginning() {
    long[] one = talk(1);
    long[] other = one.clone();
    System.arraycopy(talk(2), 0, other, 4 * STEP, other.length - 4 * STEP);

    String first = programs.of("t", first(one, 6 * STEP));

    assertThat(programs.of("t", first(other, 6 * STEP))).isNotEqualTo(first);
    assertThat(programs.of("t", first(one, 8 * STEP))).isEqualTo(first);
  }

  @Test
  void of_aBranch_isAProgramOfItsOwn() {
    long[] trunk = talk(1);
    long[] branch = trunk.clone();
    System.arraycopy(talk(2), 0, branch, 6 * STEP, branch.length - 6 * STEP);

    String name = programs.of("t", first(trunk, 6 * STEP));

    assertThat(programs.of("t", first(trunk, 8 * STEP))).isEqualTo(name);
    assertThat(programs.of("t", first(branch, 8 * STEP))).isNotEqualTo(name);
  }

  @Test
  void of_aPromptThatAnotherOneHasGoneOnFrom_isAnotherProgram() {
    long[] talk = talk(1);
    String moved = programs.of("t", first(talk, 6 * STEP));
    programs.of("t", first(talk, 8 * STEP));

    String later = programs.of("t", first(talk, 6 * STEP));

    assertThat(later).isNotEqualTo(moved);
    assertThat(programs.of("t", first(talk, 8 * STEP))).isEqualTo(moved);
    assertThat(programs.of("t", first(talk, 7 * STEP))).isEqualTo(later);
  }

  @Test
  void of_anotherTenantsPrompt_isAnotherProgram() {
    long[] talk = talk(1);

    assertThat(programs.of("a", first(talk, 5 * STEP))).isNotEqualTo(programs.of("b", first(talk, 6 * STEP)));
  }

  @Test
  void of_manyThatGoOnBeginAndAreForgotten_isWhatASearchOfAllFinds() {
    PrefixPrograms many = new PrefixPrograms(200);
    LinkedHashMap<List<Long>, String> lastPrompts = new LinkedHashMap<>();
    SplittableRandom random = new SplittableRandom(3);
    long[][] talks = new long[400][];
    Arrays.setAll(talks, talk -> random.longs(12 * STEP).toArray());
    int continued = 0;
    for (int i = 0; i < 5_000; i++) {
      int steps = random.nextInt(1, 13);
      long[] talk = talks[Math.min(random.nextInt(400), random.nextInt(400))];

      String name = many.of("t", first(talk, steps * STEP));

      List<Long> ends = Arrays.stream(talk).boxed().limit((long) steps * STEP).toList();
      String expected = null;
      for (int step = steps; step > 0 && expected == null; step--) {
        expected = lastPrompts.remove(ends.subList(0, step * STEP));
      }
      if (expected != null) {
        assertThat(name).isEqualTo(expected);
        continued++;
      } else if (lastPrompts.size() == 200) {
        lastPrompts.pollFirstEntry();
      }
      lastPrompts.put(ends, name);
    }
    assertThat(continued).isBetween(500, 4_500);
  }

  @Test
  void of_aPromptShorterThanAStep_isNone() {
    assertThat(programs.of("t", first(talk(1), STEP - 1))).isNull();
    assertThat(programs.of("t", Chain.EMPTY)).isNull();
  }

  @Test
  void of_moreThanAreRemembered_forgetsTheOneThatWasQuietForLongest() {
    String quiet = programs.of("t", first(talk(1), 5 * STEP));
    String busy = programs.of("t", first(talk(2), 5 * STEP));
    programs.of("t", first(talk(3), 5 * STEP));
    programs.of("t", first(talk(2), 6 * STEP));

    programs.of("t", first(talk(4), 5 * STEP));

    assertThat(programs.of("t", first(talk(2), 7 * STEP))).isEqualTo(busy);
    assertThat(programs.of("t", first(talk(1), 6 * STEP))).isNotEqualTo(quiet);
  }

  private static long[] talk(long seed) {
    return new SplittableRandom(seed).longs(50L * STEP).toArray();
  }

  private static Chain first(long[] hashes, int blocks) {
    return new Chain(Arrays.copyOf(hashes, blocks), BLOCK);
  }
}
