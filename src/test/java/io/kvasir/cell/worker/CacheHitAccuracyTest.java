package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.cell.TestSettings;
import org.junit.jupiter.api.Test;

/** When a worker's index is believed. Promises are of 1000 tokens where nothing else is said. */
final class CacheHitAccuracyTest {
  private static final long SECOND = 1_000_000_000L;

  private final CacheHitAccuracy truth = new CacheHitAccuracy(TestSettings.TRUTH, new ChangeCounter());

  private void answers(int count, int found) {
    for (int i = 0; i < count; i++) {
      truth.record(1000, found, 16);
    }
  }

  @Test
  void keptPromises_areBelieved() {
    answers(100, 1000);
    answers(100, 950);
    answers(100, 1500);
    assertThat(truth.trust()).isEqualTo(1);
    assertThat(truth.takeDue(0)).isFalse();
  }

  @Test
  void fewAnswers_sayNothing() {
    answers(7, 0);
    assertThat(truth.trust()).isEqualTo(1);
    answers(1, 0);
    assertThat(truth.trust()).isZero();
  }

  @Test
  void oneAnswerFarOff_isNotEnough() {
    answers(31, 1000);
    assertThat(truth.record(1_000_000, 0, 16)).isTrue();
    assertThat(truth.trust()).isEqualTo(1);
  }

  @Test
  void shareOfWrongAnswers_discountsByWhatWasTrue() {
    answers(24, 1000);
    answers(7, 200);
    assertThat(truth.trust()).isEqualTo(1);
    answers(1, 200);
    assertThat(truth.trust()).isEqualTo((24_000 + 8 * 200) / 32_000.0, within(1e-9));
  }

  @Test
  void oneBlockLess_isNoLie() {
    for (int i = 0; i < 100; i++) {
      assertThat(truth.record(32, 16, 16)).isFalse();
    }
    assertThat(truth.record(32, 15, 16)).isTrue();
  }

  @Test
  void truthAgain_isBelievedAgain() {
    answers(32, 0);
    assertThat(truth.trust()).isZero();
    answers(25, 1000);
    assertThat(truth.trust()).isEqualTo(1);
    assertThat(truth.takeDue(0)).isFalse();
  }

  @Test
  void due_onceAtOnce_thenAfterPausesThatDouble_upToTheLongest() {
    answers(8, 0);
    assertThat(truth.takeDue(0)).isTrue();
    assertThat(truth.trust()).as("what was answered before says nothing").isEqualTo(1);
    assertThat(truth.takeDue(0)).isFalse();
    long now = 0;
    for (long pause : new long[] {10, 20, 40, 60, 60}) {
      answers(8, 0);
      assertThat(truth.takeDue(now + pause * SECOND - 1)).isFalse();
      now += pause * SECOND;
      assertThat(truth.takeDue(now)).isTrue();
    }
    assertThat(truth.resyncs()).isEqualTo(6);
  }

  @Test
  void due_afterAWindowOfTruth_thePauseIsShortAgain() {
    answers(8, 0);
    assertThat(truth.takeDue(0)).isTrue();
    answers(8, 0);
    assertThat(truth.takeDue(10 * SECOND)).isTrue();
    answers(32, 1000);
    answers(32, 0);
    assertThat(truth.takeDue(30 * SECOND)).isTrue();
    answers(32, 0);
    assertThat(truth.takeDue(40 * SECOND)).isTrue();
  }
}
