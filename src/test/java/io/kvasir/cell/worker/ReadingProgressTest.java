package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a worker is taken to have read, while no first token shows it. */
final class ReadingProgressTest {
  private static final long MILLI = 1_000_000;

  private final ReadingProgress progress = new ReadingProgress();

  @Test
  void promptOfAnIdleWorker_isReadFromThenOn() {
    progress.begun(200, 200, 5 * MILLI);
    assertThat(progress.readMs(5 * MILLI)).isZero();
    assertThat(progress.readMs(105 * MILLI)).isEqualTo(100);
  }

  @Test
  void promptBehindOthers_doesNotBeginAnew() {
    progress.begun(200, 200, 0);
    progress.begun(50, 250, 100 * MILLI);
    assertThat(progress.readMs(150 * MILLI)).isEqualTo(150);
  }

  @Test
  void nextPrompt_isReadFromTheFirstTokenOfTheOneBefore() {
    progress.begun(200, 200, 0);
    progress.begun(50, 250, 100 * MILLI);
    progress.ended(50, 230 * MILLI);
    assertThat(progress.readMs(230 * MILLI)).isZero();
    assertThat(progress.readMs(250 * MILLI)).isEqualTo(20);
  }

  /** Otherwise a worker that stands still would get more and more. */
  @Test
  void silentWorker_hasReadNoMoreThanWasPending() {
    progress.begun(200, 200, 0);
    progress.begun(50, 250, 100 * MILLI);
    assertThat(progress.readMs(3_600_000 * MILLI)).isEqualTo(200);
    progress.ended(0, 3_600_000 * MILLI);
    assertThat(progress.readMs(3_700_000 * MILLI)).isZero();
  }
}
