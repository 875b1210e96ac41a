package io.kvasir.execution.attempt;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.execution.ExecutionSettings;
import io.kvasir.time.ManualClock;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class RetryBudgetTest {
  private final ManualClock clock = new ManualClock();

  @Test
  void itBeginsFullWithWhatTenSecondsBring() {
    RetryBudget budget = budget(0, 3);
    assertThat(acquired(budget)).isEqualTo(30);
  }

  @Test
  void timeFillsIt() {
    RetryBudget budget = budget(0, 2);
    acquired(budget);
    clock.advance(Duration.ofMillis(499));
    assertThat(budget.tryAcquire()).isFalse();
    clock.advance(Duration.ofMillis(1));
    assertThat(acquired(budget)).isEqualTo(1);
    clock.advance(Duration.ofHours(1));
    assertThat(acquired(budget)).as("no more than ten seconds bring").isEqualTo(20);
  }

  @Test
  void requestsFillIt() {
    RetryBudget budget = budget(0.2, 0);
    assertThat(acquired(budget)).as("at least ten at the beginning").isEqualTo(10);
    for (int request = 0; request < 4; request++) {
      budget.recordRequest();
    }
    assertThat(budget.tryAcquire()).isFalse();
    budget.recordRequest();
    assertThat(acquired(budget)).isEqualTo(1);
  }

  @Test
  void aFullBudgetGrowsNoFurther() {
    RetryBudget budget = budget(1, 1);
    for (int request = 0; request < 100; request++) {
      budget.recordRequest();
    }
    assertThat(acquired(budget)).isEqualTo(10);
  }

  @Test
  void itMayBeEmptyForever() {
    RetryBudget budget = budget(0, 0);
    budget.recordRequest();
    clock.advance(Duration.ofHours(1));
    assertThat(budget.tryAcquire()).isFalse();
  }

  @Test
  void whatIsGivenBack_canBeTakenAgain() {
    RetryBudget budget = budget(0, 3);
    acquired(budget);

    budget.release();

    assertThat(acquired(budget)).isEqualTo(1);
  }

  private RetryBudget budget(double share, int perSecond) {
    return new RetryBudget(
        new ExecutionSettings.Retries(5, Duration.ofMillis(50), Duration.ofSeconds(1), 2, share, perSecond), clock);
  }

  private static int acquired(RetryBudget budget) {
    int count = 0;
    while (budget.tryAcquire()) {
      count++;
    }
    return count;
  }
}
