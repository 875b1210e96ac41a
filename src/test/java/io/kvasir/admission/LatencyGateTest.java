package io.kvasir.admission;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Who is held by the expected time to first token, with a bound of two seconds. */
final class LatencyGateTest {
  private final LatencyGate gate = new LatencyGate(AdmissionFixture.settings(UnaryOperator.identity()));

  private boolean goes(double queueMs, double prefillMs, boolean known) {
    Verdict verdict =
        gate.check(AdmissionFixture.claim("t"), new Prospect(100, 10, queueMs, prefillMs, known), 0);
    return verdict instanceof Verdict.Go;
  }

  @Test
  void bound_isOnQueueAndPrefillTogether() {
    assertThat(goes(1_500, 500, true)).isTrue();
    assertThat(goes(1_501, 500, true)).isFalse();
  }

  @Test
  void longPrompt_goesToAWorkerThatHasLittleQueued() {
    assertThat(goes(0, 60_000, true)).isTrue();
    assertThat(goes(500, 60_000, true)).isTrue();
    assertThat(goes(501, 60_000, true)).isFalse();
  }

  @Test
  void workersOfUnknownSpeed_holdNobody() {
    assertThat(goes(1e9, 1e9, false)).isTrue();
  }
}
