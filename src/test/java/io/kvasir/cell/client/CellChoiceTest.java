package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellPressure;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class CellChoiceTest {
  private static final int ROOM = 1000;
  private static final long[] KEYS = new SplittableRandom(1).longs(2000).toArray();

  private final CellReports gauges = new CellReports();
  private final CellRanking ranking;
  private final CellChoice choice;
  private long now = 5;

  CellChoiceTest() {
    Map<String, Integer> cells = new LinkedHashMap<>();
    IntStream.range(0, 10).forEach(cell -> cells.put("m~" + cell, 100));
    ranking = new CellRanking(CellRanking.WeightedCells.of(cells), new long[CellRanking.BUCKETS]);
    choice = new CellChoice(ranking, gauges, new CellMetrics(new Metrics(new PrometheusRegistry())));
  }

  @Test
  void noPressureOrTheSame_everyKeyGoesWhereItPrefers() {
    assertThat(moved()).isEmpty();
    for (double share : new double[] {0, 0.3, 0.8, 1}) {
      IntStream.range(0, 10).forEach(cell -> hear(cell, share));
      assertThat(moved()).as("all at %s", share).isEmpty();
    }
  }

  @Test
  void pressureOfNoAccount_movesNobody() {
    IntStream.range(0, 10).forEach(cell -> hear(cell, cell == 3 ? 0.15 : 0));
    assertThat(moved()).isEmpty();
  }

  @Test
  void pressedCell_givesKeysAway_theSameFirst_toTheNextOfTheirOrder() {
    Set<Long> before = Set.of();
    long all = LongStream.of(KEYS).filter(key -> CellRanking.at(ranking.order(key), 0) == 3).count();
    for (double share : new double[] {0.36, 0.38, 0.40, 0.43, 0.46, 0.49, 0.52, 0.56}) {
      IntStream.range(0, 10).forEach(cell -> hear(cell, cell == 3 ? share : 0.15));
      Set<Long> moved = moved();
      assertThat(moved).containsAll(before);
      for (long key : moved) {
        assertThat(CellRanking.at(ranking.order(key), 0)).isEqualTo(3);
        assertThat(choice.choose(key, now)).isEqualTo(CellRanking.at(ranking.order(key), 1));
      }
      before = moved;
    }
    assertThat((long) before.size()).isEqualTo(all);
  }

  @Test
  void nobodyIsSentFromOnePressedCellToAnother() {
    IntStream.range(0, 10).forEach(cell -> hear(cell, cell < 4 ? 0.9 : 0.1));
    for (long key : KEYS) {
      long order = ranking.order(key);
      boolean free =
          IntStream.range(0, CellRanking.RANKS).anyMatch(rank -> CellRanking.at(order, rank) >= 4);
      assertThat(choice.choose(key, now) >= 4).isEqualTo(free);
    }
  }

  @Test
  void cellThatCanTakeNothing_isPassedOver() {
    IntStream.range(0, 10).forEach(cell -> gauges.gauge("m~" + cell).update(new CellPressure(0.99, ROOM), now));
    gauges.gauge("m~4").update(new CellPressure(0.5, ROOM), now);
    for (long key : KEYS) {
      long order = ranking.order(key);
      if (IntStream.range(0, CellRanking.RANKS).anyMatch(rank -> CellRanking.at(order, rank) == 4)) {
        assertThat(choice.choose(key, now)).isEqualTo(4);
      }
    }
  }

  @Test
  void cellNotHeardOf_keepsItsKeys_andGetsNobodyElses() {
    IntStream.range(0, 10).filter(cell -> cell != 6).forEach(cell -> hear(cell, cell == 3 ? 0.9 : 0.1));
    for (long key : KEYS) {
      int preferred = CellRanking.at(ranking.order(key), 0);
      assertThat(choice.choose(key, now) == 6).isEqualTo(preferred == 6);
    }
  }

  @Test
  void whatWasHeardLongAgo_doesNotCount() {
    IntStream.range(0, 10).forEach(cell -> hear(cell, cell == 3 ? 0.9 : 0.1));
    assertThat(moved()).isNotEmpty();
    now += Duration.ofSeconds(10).toNanos();
    assertThat(moved()).isEmpty();
    assertThat(gauges.gauge("m~3").share(now)).isEqualTo(PressureGauge.UNKNOWN);
  }

  @Test
  void requestsSentSince_countAsPressure() {
    PressureGauge gauge = gauges.gauge("m~3");
    gauge.update(new CellPressure(0.2, 10), now);
    IntStream.range(0, 3).forEach(_ -> gauge.sent());
    assertThat(gauge.share(now)).isEqualTo(0.5);
    gauge.update(new CellPressure(0.4, 10), now);
    assertThat(gauge.share(now)).isEqualTo(0.4);
  }

  @Test
  void decide_aCellWithoutAWorker_theNextIsAsked_eachOnce_andSoOnWithTheLeastPressed() {
    List<String> asked = new ArrayList<>();
    IntStream.range(0, 10).forEach(cell -> hear(cell, cell / 100.0));
    Decision decision =
        choice.decide(
            request("s"),
            now,
            cell -> {
              asked.add(cell);
              return new Decision.NoWorker(
                  asked.size() == 2 ? Decision.NoWorkerReason.ALL_FULL : Decision.NoWorkerReason.NONE_HEALTHY, cell);
            });
    assertThat(asked).doesNotHaveDuplicates().hasSize(8);
    long order = ranking.order(AffinityKey.of(request("s")));
    assertThat(asked.subList(0, 4))
        .isEqualTo(
            IntStream.range(0, 4).mapToObj(rank -> ranking.name(CellRanking.at(order, rank))).toList());
    assertThat(asked.subList(4, 8)).isSorted();
    assertThat(decision).as("one of them may have room soon")
        .isEqualTo(new Decision.NoWorker(Decision.NoWorkerReason.ALL_FULL, asked.get(1)));
  }

  @Test
  void decide_saysWhichCell_andWhichItWouldHaveBeen() {
    Decision.Planned planned =
        new Decision.Planned("single", RoutingPlan.StepOrder.SEQUENTIAL, List.of(), "why");
    long order = ranking.order(AffinityKey.of(request("s")));
    String preferred = ranking.name(CellRanking.at(order, 0));
    String next = ranking.name(CellRanking.at(order, 1));
    assertThat(choice.decide(request("s"), now, _ -> planned))
        .isEqualTo(new Decision.Planned("single", planned.order(), List.of(), "why; cell=" + preferred));
    Decision other =
        choice.decide(
            request("s"), now,
            cell -> cell.equals(preferred) ? new Decision.NoWorker(Decision.NoWorkerReason.ALL_FULL, "") : planned);
    assertThat(((Decision.Planned) other).reason()).isEqualTo("why; cell=" + next + "; instead_of=" + preferred);
  }

  @Test
  void explain_tellsTheCellsAndWhyTheyWerePassedOver() {
    long order = ranking.order(AffinityKey.of(request("s")));
    int preferred = CellRanking.at(order, 0);
    int next = CellRanking.at(order, 1);
    IntStream.range(0, 10).forEach(cell -> hear(cell, cell == preferred ? 0.8 : 0.1));
    DecisionRecord told = choice.explain(request("s"), now, cell -> record(cell, null));
    assertThat(told.cell()).isEqualTo(ranking.name(next));
    assertThat(cells(told)).extracting(DecisionRecord.CellOption::cell)
        .startsWith(ranking.name(preferred), ranking.name(next));
    assertThat(cells(told)).extracting(DecisionRecord.CellOption::passedOver)
        .containsExactly("pressure", null, null, null);
    assertThat(cells(told)).extracting(DecisionRecord.CellOption::pressure).containsExactly(0.8, 0.1, 0.1, 0.1);

    DecisionRecord refused =
        choice.explain(
            request("s"), now, cell -> record(cell, cell.equals(ranking.name(next)) ? "all_full" : null));
    assertThat(refused.cell()).as("pressed, but not full").isEqualTo(ranking.name(preferred));
    assertThat(cells(refused)).extracting(DecisionRecord.CellOption::passedOver)
        .containsExactly(null, "no worker", null, null);
  }

  private static List<DecisionRecord.CellOption> cells(DecisionRecord told) {
    return Objects.requireNonNull(told.cells());
  }

  private Set<Long> moved() {
    // What is known of the mean is renewed.
    now += Duration.ofSeconds(1).toNanos();
    Set<Long> moved = new HashSet<>();
    for (long key : KEYS) {
      if (choice.choose(key, now) != CellRanking.at(ranking.order(key), 0)) {
        moved.add(key);
      }
    }
    return moved;
  }

  private void hear(int cell, double share) {
    gauges.gauge("m~" + cell).update(new CellPressure(share, ROOM), now);
  }

  private static DecisionRecord record(String cell, @Nullable String refused) {
    return new DecisionRecord(
        "", "r", null, "m", "p", cell, 1, 0, 0, null, List.of(), Map.of(), 0, List.of(), refused, "", List.of(),
        List.of(), null);
  }

  private static DecisionRequest request(String session) {
    return new DecisionRequest(
        "r", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(Chain.EMPTY, 1),
        new PreparedSlots(Map.of("session-key", session), null, null), true, DecisionRequest.Constraints.NONE);
  }
}
