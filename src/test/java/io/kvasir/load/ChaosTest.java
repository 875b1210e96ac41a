package io.kvasir.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The short form of {@code load-tests/chaos}. */
final class ChaosTest {
  @Test
  void requestsAmongFailingWorkers_allEndAsTheyMay() throws Exception {
    Chaos.Result result = Chaos.run(300, 7);

    assertThat(result.tally().lost()).isEmpty();
    assertThat(result.leaked()).isZero();
    assertThat(result.tally().requests()).isEqualTo(300);
    assertThat(result.trouble()).as("what went wrong on purpose").isNotEmpty();
    assertThat(result.tally().count(ChaosClient.End.COMPLETE)).isPositive();
  }
}
