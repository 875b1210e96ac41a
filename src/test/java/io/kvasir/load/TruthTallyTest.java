package io.kvasir.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.load.CachePrediction.Verdict;
import java.util.List;
import org.junit.jupiter.api.Test;

final class TruthTallyTest {
  private static final long SECOND = 1_000_000_000;

  @Test
  void line_countsByWorker_andWantsTheFirstOfEachExplained() {
    TruthTally tally = new TruthTally(TrafficKind.SALTED, 1);

    assertThat(tally.add("a", Verdict.EXACT, 1, 100, 80)).isFalse();
    assertThat(tally.add("a", Verdict.OVER, 2, 100, 0)).isTrue();
    assertThat(tally.add("a", Verdict.OVER, 3, 100, 0)).isFalse();
    assertThat(tally.add("a", Verdict.UNREPORTED, 4, 100, -1)).isTrue();
    assertThat(tally.add("b", Verdict.OVER, 5, 100, 0)).isTrue();

    TruthTally.Line line = tally.lines().getFirst();
    assertThat(line.worker()).isEqualTo("a");
    assertThat(line.requests()).isEqualTo(4);
    assertThat(line.count(Verdict.OVER)).isEqualTo(2);
    assertThat(line.exactPercent()).isEqualTo(25);
    assertThat(line.cachedPercent()).isEqualTo(20);
  }

  @Test
  void recovery_isTheLastWrongAnswerBeforeManyExactOnes() {
    TruthTally tally = new TruthTally(TrafficKind.LOSSY, 1);
    tally.disturbed(10 * SECOND, 12 * SECOND);
    tally.add("a", Verdict.OVER, 11 * SECOND, 1, 0);
    exact(tally, 12 * SECOND, 49);
    tally.add("a", Verdict.UNDER, 15 * SECOND, 1, 0);
    assertThat(tally.secondsToRecover()).isEmpty();
    exact(tally, 16 * SECOND, 50);
    tally.add("a", Verdict.UNDER, 17 * SECOND, 1, 0);

    assertThat(tally.secondsToRecover()).contains(3.0);
    assertThat(new TruthReport(99.9, 5).misses(List.of(tally))).isEmpty();
    assertThat(new TruthReport(99.9, 2).misses(List.of(tally))).containsExactly("lossy: exact again after 3.00 s");
  }

  @Test
  void goal_isOfEachEngine_overAllTrafficWithoutFaults() {
    TruthTally turns = new TruthTally(TrafficKind.MULTI_TURN, 1);
    exact(turns, 0, 6);
    TruthTally salted = new TruthTally(TrafficKind.SALTED, 1);
    exact(salted, 0, 3);
    salted.add("a", Verdict.UNCONFIRMED, 1, 1, 0);
    salted.add("b", Verdict.EXACT, 1, 1, 0);

    assertThat(TruthReport.exactPercents(List.of(turns, salted))).containsEntry("a", 90.0).containsEntry("b", 100.0);
    assertThat(new TruthReport(90, 5).misses(List.of(turns, salted))).isEmpty();
    assertThat(new TruthReport(91, 5).misses(List.of(turns, salted))).containsExactly("a: 90.000 % exact");
  }

  @Test
  void failuresWithoutAFault_missTheGoal() {
    TruthTally tally = new TruthTally(TrafficKind.MULTI_TURN, 1);
    exact(tally, 0, 1);
    tally.fail("503");
    tally.fail("504");

    assertThat(tally.firstFailure()).isEqualTo("503");
    assertThat(new TruthReport(99.9, 5).misses(List.of(tally)))
        .containsExactly("multi-turn: 2 requests without an answer");
  }

  private static void exact(TruthTally tally, long from, int count) {
    for (int i = 0; i < count; i++) {
      tally.add("a", Verdict.EXACT, from + i, 1, 0);
    }
  }
}
