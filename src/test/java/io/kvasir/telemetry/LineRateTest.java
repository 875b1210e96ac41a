package io.kvasir.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class LineRateTest {
  private long now = TimeUnit.DAYS.toNanos(3);
  private final LineRate rate = new LineRate(2, () -> now);

  @Test
  void linesBeyondTheRate_areLeftOut() {
    assertThat(rate.take()).isZero();
    assertThat(rate.take()).isZero();
    assertThat(rate.take()).isEqualTo(-1);
  }

  @Test
  void nextSecond_tellsHowManyWereLeftOut_once() {
    for (int i = 0; i < 5; i++) {
      rate.take();
    }
    now += TimeUnit.SECONDS.toNanos(1);

    assertThat(rate.take()).isEqualTo(3);
    assertThat(rate.take()).isZero();
    assertThat(rate.take()).isEqualTo(-1);
  }

  @Test
  void pause_savesNoLinesUp() {
    now += TimeUnit.MINUTES.toNanos(1);
    rate.take();
    rate.take();

    assertThat(rate.take()).isEqualTo(-1);
  }
}
