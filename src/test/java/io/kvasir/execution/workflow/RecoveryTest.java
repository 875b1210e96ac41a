package io.kvasir.execution.workflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.execution.workflow.Recovery.FailedStep;
import io.kvasir.routing.FailurePolicy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class RecoveryTest {
  private static final Duration PAUSE = Duration.ofMillis(50);

  /** The recovery with a retry left, and without one. */
  @ParameterizedTest
  @CsvSource({
      "NEXT_CANDIDATE,              LAST,       false, Replan,       FailRequest",
      "NEXT_CANDIDATE,              BEFORE,     true,  RetryStep,    FailRequest",
      "NEXT_CANDIDATE,              CONCURRENT, true,  Replan,       FailRequest",
      "NEXT_CANDIDATE_THEN_WITHOUT, LAST,       false, Replan,       FailRequest",
      "NEXT_CANDIDATE_THEN_WITHOUT, BEFORE,     true,  RetryStep,    SkipStep",
      "NEXT_CANDIDATE_THEN_WITHOUT, BEFORE,     false, RetryStep,    FailRequest",
      "NEXT_CANDIDATE_THEN_WITHOUT, CONCURRENT, true,  Replan,       SkipStep",
      "NEXT_CANDIDATE_THEN_WITHOUT, CONCURRENT, false, Replan,       FailRequest",
      "WITHOUT,                     LAST,       false, FailRequest,  FailRequest",
      "WITHOUT,                     BEFORE,     true,  SkipStep,     SkipStep",
      "WITHOUT,                     BEFORE,     false, FailRequest,  FailRequest",
      "WITHOUT,                     CONCURRENT, true,  SkipStep,     SkipStep",
      "FAIL,                        LAST,       false, FailRequest,  FailRequest",
      "FAIL,                        BEFORE,     true,  FailRequest,  FailRequest",
      "FAIL,                        CONCURRENT, true,  FailRequest,  FailRequest",
  })
  void itFollowsFromThePolicyAndThePlace(
      FailurePolicy policy, FailedStep step, boolean optional, String withRetry, String withoutRetry) {
    assertThat(Recovery.of(policy, step, optional, () -> PAUSE).getClass().getSimpleName()).isEqualTo(withRetry);
    assertThat(Recovery.of(policy, step, optional, () -> null).getClass().getSimpleName()).isEqualTo(withoutRetry);
  }

  @Test
  void aReplanMayFallBackToDecodeOnlyWhereTheStepCanBeSkipped() {
    FailurePolicy policy = FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT;
    assertThat(Recovery.of(policy, FailedStep.CONCURRENT, true, () -> PAUSE))
        .isEqualTo(new Recovery.Replan(PAUSE, true));
    assertThat(Recovery.of(policy, FailedStep.CONCURRENT, false, () -> PAUSE))
        .isEqualTo(new Recovery.Replan(PAUSE, false));
    assertThat(Recovery.of(policy, FailedStep.LAST, true, () -> PAUSE)).isEqualTo(new Recovery.Replan(PAUSE, false));
  }

  @ParameterizedTest
  @EnumSource(FailurePolicy.class)
  void onlyPoliciesThatRetryTakeOne(FailurePolicy policy) {
    boolean[] taken = new boolean[1];
    Recovery.of(policy, FailedStep.LAST, false, () -> {
      taken[0] = true;
      return PAUSE;
    });
    assertThat(taken[0])
        .isEqualTo(List.of(FailurePolicy.NEXT_CANDIDATE, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT).contains(policy));
  }
}
