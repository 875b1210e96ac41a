package io.kvasir.admission;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Who is held by what is queued at the worker, with a bound of two seconds. */
final class EngineQueueGateTest {
  private final EngineQueueGate gate = new EngineQueueGate(AdmissionFixture.settings(UnaryOperator.identity()));

  private boolean goes(int promptTokens, double queueMs, boolean known) {
    Prospect prospect = new Prospect(promptTokens, promptTokens, queueMs, known, 100, 100);
    return gate.check(AdmissionFixture.claim("t"), Standing.ALONE, prospect) instanceof Verdict.Go;
  }

  @Test
  void bound_isOnWhatIsQueued() {
    assertThat(goes(10, 2_000, true)).isTrue();
    assertThat(goes(10, 2_001, true)).isFalse();
  }

  @Test
  void longPrompt_isNotOvertakenByShortOnes() {
    for (double queueMs = 0; queueMs < 4_000; queueMs += 10) {
      assertThat(goes(1_000_000, queueMs, true)).isEqualTo(goes(1, queueMs, true));
    }
  }

  /** Of the two seconds a tenant that has used up its share finds one, while others have not used up theirs. */
  @Test
  void shareOfTheQueue_isKeptForTenantsThatUseLittle() {
    assertThat(verdict(1, 1_000)).isEqualTo(Verdict.GO);
    assertThat(verdict(1, 1_001)).isEqualTo(new Verdict.Hold(HoldReason.KEPT));
    assertThat(verdict(1, 2_000)).isEqualTo(new Verdict.Hold(HoldReason.KEPT));
    assertThat(verdict(1, 2_001)).isEqualTo(new Verdict.Hold(HoldReason.BUSY));
    assertThat(verdict(0, 2_000)).isEqualTo(Verdict.GO);
  }

  private Verdict verdict(int rivals, double queueMs) {
    return gate.check(
        AdmissionFixture.claim("t"), new Standing(false, rivals), new Prospect(1, 1, queueMs, true, 100, 100));
  }

  @Test
  void workersOfUnknownSpeed_holdNobody() {
    assertThat(goes(10, 1e9, false)).isTrue();
  }
}
