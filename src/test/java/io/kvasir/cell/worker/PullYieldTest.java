package io.kvasir.cell.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class PullYieldTest {
  private static final long NOW = Long.MAX_VALUE - 5;

  private final PullYield share = new PullYield();

  @Test
  void nothingKnown_allIsExpected() {
    assertThat(share.at(NOW)).isEqualTo(1);
  }

  @Test
  void whatIsNotFound_isExpectedNoMore_andTriedAgainInMinutes() {
    for (int i = 0; i < 40; i++) {
      share.observed(100, 0, NOW);
    }
    assertThat(share.at(NOW)).isLessThan(0.01);
    assertThat(share.at(NOW + TimeUnit.MINUTES.toNanos(5))).isCloseTo(0.5, within(0.01));
    assertThat(share.at(NOW + TimeUnit.HOURS.toNanos(2))).isGreaterThan(0.99);
  }

  @Test
  void part_isAShare() {
    for (int i = 0; i < 80; i++) {
      share.observed(200, 50, NOW);
    }
    assertThat(share.at(NOW)).isCloseTo(0.25, within(0.01));
    share.observed(200, 200, NOW);
    assertThat(share.at(NOW)).isGreaterThan(0.3);
  }
}
