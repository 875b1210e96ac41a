package io.kvasir.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.CachePrediction.Verdict;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class CachePredictionTest {
  /** A prompt of 100 tokens, six full blocks; five predicted, two of them by nothing but an earlier request. */
  private static final String REASON = "expected-cost; depth=5/6; cached=80/100; candidates=3; predicted=2";

  @ParameterizedTest
  @CsvSource({
    "80, EXACT", "96, UNDER", "81, UNDER", "79, UNCONFIRMED", "48, UNCONFIRMED", "47, OVER", "0, OVER", "-1, UNREPORTED"
  })
  void verdict_byWhatTheEngineFound(int cached, Verdict verdict) {
    CachePrediction prediction = CachePrediction.parse(REASON, 16).orElseThrow();

    assertThat(prediction.verdict(cached)).isEqualTo(verdict);
  }

  @Test
  void everythingConfirmed_lessIsOver() {
    CachePrediction prediction =
        CachePrediction.parse("expected-cost; depth=5/6; cached=80/100; candidates=3", 16).orElseThrow();

    assertThat(prediction.confirmedTokens()).isEqualTo(80);
    assertThat(prediction.verdict(64)).isEqualTo(Verdict.OVER);
  }

  @Test
  void wholePromptHeld_lastBlockIsComputedAgain() {
    CachePrediction prediction =
        CachePrediction.parse("expected-cost; depth=6/6; cached=80/96; candidates=3", 16).orElseThrow();

    assertThat(prediction.confirmedTokens()).isEqualTo(80);
    assertThat(prediction.verdict(80)).isEqualTo(Verdict.EXACT);
  }

  @Test
  void noPredictionInReason_nothing() {
    assertThat(CachePrediction.parse("", 16)).isEmpty();
    assertThat(CachePrediction.parse("quarantined", 16)).isEmpty();
  }
}
