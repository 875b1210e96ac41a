package io.kvasir.http.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.server.ProgressDeadline.Limits;
import io.kvasir.time.ManualClock;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ProgressDeadlineTest {
  private static final Limits LIMITS = new Limits(seconds(30), seconds(10), 1000);

  private final ManualClock clock = new ManualClock();
  private final ProgressDeadline deadline = new ProgressDeadline(clock);

  @Test
  void whatHasNotStarted_isNotExceeded() {
    assertThat(exceededAfter(1000)).isFalse();
    deadline.start(LIMITS);
    deadline.stop();
    assertThat(exceededAfter(1000)).isFalse();
  }

  @Test
  void aStall_exceedsIt() {
    deadline.start(LIMITS);
    assertThat(exceededAfter(9)).isFalse();
    assertThat(exceededAfter(2)).isTrue();
  }

  @Test
  void progress_isWaitedForAgain() {
    deadline.start(LIMITS);
    for (int i = 0; i < 3; i++) {
      assertThat(exceededAfter(8)).isFalse();
      deadline.progress(1);
      assertThat(exceededAfter(0)).isFalse();
    }
    assertThat(exceededAfter(7)).as("the total, in spite of progress").isTrue();
  }

  @Test
  void bytes_prolongTheTotal() {
    deadline.start(LIMITS);
    for (int i = 0; i < 100; i++) {
      deadline.progress(1000);
      assertThat(exceededAfter(1)).isFalse();
    }
    for (int i = 0; i < 30; i++) {
      deadline.progress(10);
      assertThat(exceededAfter(1)).as("second %s below the rate", i).isFalse();
    }
    deadline.progress(10);
    assertThat(exceededAfter(1)).isTrue();
  }

  @Test
  void eachStart_beginsAnew() {
    deadline.start(LIMITS);
    deadline.progress(1_000_000);
    clock.advance(Duration.ofSeconds(500));
    deadline.start(LIMITS);
    assertThat(exceededAfter(9)).isFalse();
    assertThat(exceededAfter(2)).isTrue();
  }

  private boolean exceededAfter(int seconds) {
    clock.advance(Duration.ofSeconds(seconds));
    return deadline.excess(clock.nanos()) != null;
  }

  private static long seconds(int count) {
    return Duration.ofSeconds(count).toNanos();
  }
}
