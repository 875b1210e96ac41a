package io.kvasir.limits;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.MathContext;
import java.time.Duration;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class BucketTest {
  private static final long NOW = 1_700_000_000_000L;
  private static final long DAY = Duration.ofDays(1).toMillis();

  /** Against a bucket of exact fractions that is refilled millisecond by millisecond in thought: by one formula. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void rate_isAsExactFractionsHaveIt(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    long amount = random.nextLong(1, 1_000_000_000);
    long burst = random.nextLong(1, 3 * amount);
    Quota quota = new Quota(Dimension.TOKENS, Quota.MINUTE, amount, burst);
    Bucket bucket = new Bucket(quota, burst, NOW);
    BigDecimal exact = BigDecimal.valueOf(burst);
    long now = NOW;
    for (int step = 0; step < 2000; step++) {
      long elapsed = random.nextLong(0, 3000);
      now += elapsed;
      BigDecimal gained = BigDecimal.valueOf(amount)
          .multiply(BigDecimal.valueOf(elapsed))
          .divide(BigDecimal.valueOf(Quota.MINUTE), MathContext.DECIMAL128);
      exact = exact.add(gained).min(BigDecimal.valueOf(burst));
      bucket.refill(now, 0);
      assertThat(BigDecimal.valueOf(bucket.level()).subtract(exact).abs()).isLessThan(BigDecimal.TWO);
      long taken = random.nextLong(0, Math.max(1, amount / 20));
      bucket.subtract(taken);
      exact = exact.subtract(BigDecimal.valueOf(taken));
    }
  }

  @Test
  void rate_isNoLargerThanItsBurst_withWhatIsLeased() {
    Bucket bucket = new Bucket(new Quota(Dimension.REQUESTS, Quota.MINUTE, 600, 100), 0, NOW);
    bucket.refill(NOW + 3_600_000, 30);
    assertThat(bucket.level()).isEqualTo(70);
  }

  @Test
  void rate_refillsOnAfterItsClockHasGoneBack() {
    Bucket bucket = new Bucket(new Quota(Dimension.REQUESTS, Quota.MINUTE, 600, 600), 5, NOW);
    bucket.refill(NOW - 1_200_000, 0);
    assertThat(bucket.level()).isEqualTo(5);
    bucket.refill(NOW - 1_199_000, 0);
    assertThat(bucket.level()).isEqualTo(15);
  }

  /** A clock that goes back over the beginning of a window, and comes to it again, brings no second budget. */
  @Test
  void budget_isWholeOnceAWindow_whereItsClockGoesBack() {
    long midnight = NOW / DAY * DAY + DAY;
    Bucket bucket = new Bucket(new Quota(Dimension.BUDGET, DAY, 1000, 1000), 40, midnight);
    bucket.refill(midnight - 1000, 0);
    bucket.refill(midnight, 0);
    assertThat(bucket.level()).isEqualTo(40);
  }

  @Test
  void budget_isWholeAgainWithTheNextWindow_countedFromTheEpoch() {
    Quota quota = new Quota(Dimension.BUDGET, DAY, 1000, 1000);
    long midnight = NOW / DAY * DAY + DAY;
    Bucket bucket = new Bucket(quota, -40, NOW);
    bucket.refill(midnight - 1, 0);
    assertThat(bucket.level()).isEqualTo(-40);
    assertThat(Bucket.millisUntil(quota, -40, 1, midnight - 1)).isEqualTo(1);
    bucket.refill(midnight, 0);
    assertThat(bucket.level()).isEqualTo(1000);
  }

  @Test
  void budgetWhoseAmountChanges_keepsWhatIsUsed() {
    Bucket bucket = new Bucket(new Quota(Dimension.BUDGET, DAY, 1000, 1000), 400, NOW);
    bucket.resize(new Quota(Dimension.BUDGET, DAY, 1500, 1500));
    assertThat(bucket.level()).isEqualTo(900);
  }

  @Test
  void waitForMoreThanTheBurst_endsWhenTheBurstIsThere() {
    Quota quota = new Quota(Dimension.TOKENS, Quota.MINUTE, 600, 60);
    assertThat(Bucket.millisUntil(quota, 10, 5000, NOW)).isEqualTo(5000);
    assertThat(Bucket.millisUntil(quota, 60, 5000, NOW)).isZero();
  }
}
