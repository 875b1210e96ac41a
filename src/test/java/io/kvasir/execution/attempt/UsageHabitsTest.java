package io.kvasir.execution.attempt;

import static io.kvasir.cell.Outcome.UNKNOWN;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ApiPath;
import org.junit.jupiter.api.Test;

final class UsageHabitsTest {
  private final UsageHabits habits = new UsageHabits();

  @Test
  void engineThatNeverReported_isNotUnderstood() {
    assertThat(chat(UNKNOWN, 64)).isEqualTo(UNKNOWN);
    assertThat(chat(UNKNOWN, 0)).isEqualTo(UNKNOWN);
  }

  @Test
  void engineThatReportedSome_meansNoneByNothing() {
    chat(UNKNOWN, 0);
    assertThat(chat(48, 48)).isEqualTo(48);
    assertThat(chat(UNKNOWN, 48)).isZero();
    assertThat(chat(UNKNOWN, 0)).isZero();
  }

  @Test
  void engineThatReportedNone_meansNothingByNothing() {
    assertThat(chat(0, 0)).isZero();
    chat(48, 48);
    assertThat(chat(UNKNOWN, 48)).isEqualTo(UNKNOWN);
  }

  @Test
  void anotherApiOrPod_hasHabitsOfItsOwn() {
    chat(48, 48);
    assertThat(habits.cachedTokens("a", ApiPath.MESSAGES, 100, UNKNOWN, 48)).isEqualTo(UNKNOWN);
    assertThat(habits.cachedTokens("b", ApiPath.CHAT, 100, UNKNOWN, 48)).isEqualTo(UNKNOWN);
    assertThat(habits.cachedTokens("a", null, 100, UNKNOWN, 48)).isEqualTo(UNKNOWN);
  }

  @Test
  void answerWithoutUsage_saysNothing() {
    chat(48, 48);
    assertThat(habits.cachedTokens("a", ApiPath.CHAT, UNKNOWN, UNKNOWN, 48)).isEqualTo(UNKNOWN);
  }

  /** Another engine behind the address, which was not started to tell. */
  @Test
  void engineThatFindsNothingTooOften_isNotUnderstoodAnyMore_untilItReportsSome() {
    chat(48, 48);
    for (int i = 0; i < UsageHabits.MOST_MISSES; i++) {
      assertThat(chat(UNKNOWN, 48)).isZero();
      assertThat(chat(UNKNOWN, 0)).isZero();
    }
    assertThat(chat(UNKNOWN, 48)).isEqualTo(UNKNOWN);
    assertThat(chat(UNKNOWN, 0)).isEqualTo(UNKNOWN);
    chat(16, 48);
    assertThat(chat(UNKNOWN, 48)).isZero();
  }

  @Test
  void engineThatFindsSomethingInBetween_staysUnderstood() {
    for (int i = 0; i < 3 * UsageHabits.MOST_MISSES; i++) {
      chat(16, 48);
      assertThat(chat(UNKNOWN, 48)).isZero();
    }
  }

  private int chat(int reported, int expected) {
    return habits.cachedTokens("a", ApiPath.CHAT, 100, reported, expected);
  }
}
