package io.kvasir.scale.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.admission.ModelBacklog;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.UnservedDemand;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerStatus.Work;
import io.kvasir.routing.Role;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.scale.Backlog;
import io.kvasir.scale.FleetDemand;
import io.kvasir.scale.ScaleTarget;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class DemandMeterTest {
  private static final ScaleTarget TARGET = new ScaleTarget("m", Role.BOTH);

  private final TestFleet fleet = new TestFleet();
  private final CostModel costs = CostModel.bundled();
  private final DemandMeter meter = new DemandMeter(costs, Set.of(new ScaleTarget("z", Role.BOTH)), 2.5);

  private FleetDemand at(double seconds) {
    return Objects.requireNonNull(meter.measure(seconds, fleet.status(), UnservedDemand.NONE).get(TARGET)).demand();
  }

  @Test
  void whatIsCounted_becomesARate() {
    fleet.put("a", 3, new Work(500, 10_000, 4000, 10, 100));
    fleet.put("b", 1, new Work(1500, 90_000, 1000, 20, 100));
    assertThat(at(100).prefillPerSecond()).as("before there is a difference").isZero();

    fleet.put("a", 3, new Work(500, 14_000, 4000, 20, 100));
    fleet.put("b", 1, new Work(1500, 91_000, 1000, 20, 100));
    FleetDemand demand = at(110);

    assertThat(demand.prefillPerSecond()).isEqualTo(0.5, within(1e-9));
    assertThat(demand.owedSeconds()).isEqualTo(2);
    assertThat(demand.inFlight()).isEqualTo(4);
    assertThat(demand.contextTokens()).isEqualTo(5000);
    assertThat(demand.waitSeconds()).isEqualTo(0.5);
    assertThat(demand.tokensPerSecond()).isBetween(1.0, 100.0);
  }

  @Test
  void whatIsCountedTooSoon_isPartOfTheNextRate() {
    fleet.put("a", 0, Work.NONE);
    at(0);
    fleet.put("a", 0, new Work(0, 1000, 0, 0, 0));
    assertThat(at(10).prefillPerSecond()).isEqualTo(0.1, within(1e-9));
    fleet.put("a", 1, new Work(0, 3000, 0, 0, 0));
    fleet.backlog("c", new ModelBacklog("m", 10, 10_000, 5000, 0, 1));
    assertThat(at(10)).as("at the same time").satisfies(demand -> {
      assertThat(demand.prefillPerSecond()).isEqualTo(0.1, within(1e-9));
      assertThat(demand.inFlight()).isEqualTo(1);
      assertThat(demand.backlog().requests()).isEqualTo(10);
      assertThat(demand.backlog().morePerSecond()).isZero();
    });
    fleet.backlog("c");
    assertThat(meter.measure(11, fleet.status(), new UnservedDemand(Map.of("m", 60), List.of()))).isNotEmpty();
    fleet.put("a", 0, new Work(0, 5000, 0, 0, 0));
    assertThat(at(20)).satisfies(demand -> {
      assertThat(demand.prefillPerSecond()).isEqualTo(0.4, within(1e-9));
      assertThat(demand.backlog().refusedPerSecond()).isBetween(0.9, 1.0);
      assertThat(demand.backlog().morePerSecond()).as("they came and went").isZero();
    });
  }

  @Test
  void tokens_settleAtTheirRate() {
    for (int at = 0; at <= 300; at += 5) {
      fleet.put("a", 1, new Work(0, 0, 0, at * 2L, 100));
      at(at);
    }
    assertThat(at(305).tokensPerSecond()).isCloseTo(200, within(40.0));
  }

  @Test
  void newHome_countsFromZero_andNothingRunsBackwards() {
    fleet.put("a", 0, new Work(0, 50_000, 0, 100, 100));
    at(0);
    fleet.put("a", 0, new Work(0, 200, 0, 1, 100));
    assertThat(at(5)).satisfies(demand -> {
      assertThat(demand.prefillPerSecond()).isZero();
      assertThat(demand.tokensPerSecond()).isZero();
    });
    fleet.put("a", 0, new Work(0, 1200, 0, 1, 100));
    assertThat(at(10).prefillPerSecond()).isEqualTo(0.2, within(1e-9));
  }

  @Test
  void cellWhoseHomeIsSilent_countsAsItWas_andOnlyOnce() {
    fleet.put("a", 0, new Work(0, 0, 0, 0, 0));
    fleet.put("b", "d", "m", Role.BOTH, Health.HEALTHY, 2, EngineReport.NONE, new Work(0, 0, 100, 0, 0));
    at(0);
    fleet.put("b", "d", "m", Role.BOTH, Health.HEALTHY, 2, EngineReport.NONE, new Work(0, 2000, 100, 0, 0));
    assertThat(at(5).prefillPerSecond()).isEqualTo(0.4, within(1e-9));

    fleet.answers("d", false);
    assertThat(at(10)).satisfies(demand -> {
      assertThat(demand.workers()).isEqualTo(2);
      assertThat(demand.prefillPerSecond()).isEqualTo(0.4, within(1e-9));
      assertThat(demand.contextTokens()).isEqualTo(100);
    });
    fleet.answers("d", true);
    assertThat(at(15)).satisfies(demand -> {
      assertThat(demand.workers()).isEqualTo(2);
      assertThat(demand.prefillPerSecond()).isZero();
    });
  }

  @Test
  void roles_areTargetsOfTheirOwn() {
    fleet.put("p", "c", "m", Role.PREFILL, Health.HEALTHY, 1, EngineReport.NONE, Work.NONE);
    fleet.put("d", "c", "m", Role.DECODE, Health.WEDGED, 7, EngineReport.NONE, Work.NONE);
    var measured = meter.measure(0, fleet.status(), UnservedDemand.NONE);

    assertThat(measured.sequencedKeySet())
        .startsWith(new ScaleTarget("m", Role.PREFILL), new ScaleTarget("m", Role.DECODE));
    assertThat(Objects.requireNonNull(measured.get(new ScaleTarget("m", Role.DECODE))).demand()).satisfies(demand -> {
      assertThat(demand.workers()).isEqualTo(1);
      assertThat(demand.ready()).isZero();
      assertThat(demand.inFlight()).isEqualTo(7);
    });
  }

  @Test
  void memory_isAsReported_elseAsEstimated() {
    fleet.put("a", "c", "m", Role.BOTH, Health.HEALTHY, 1, new EngineReport(1, 3, 0.75), Work.NONE);
    double tokens = costs.decode("h200-Qwen3-32B-tp2").kvTokens();
    fleet.put("b", 2, new Work(0, 0, (long) (tokens / 4), 0, tokens / 4));

    FleetDemand demand = at(0);
    assertThat(demand.memoryUse()).isEqualTo(0.75 + 0.25 + 0.25, within(1e-3));
    assertThat(demand.waiting()).isEqualTo(3);
  }

  /** Seconds of prefill of ten prompts of 1,000 tokens, half of them cached. */
  private double tenPrompts() {
    return 10 * costs.of("h200-Qwen3-32B-tp2").prefillMs(500, 1000) / 1e3;
  }

  @Test
  void whoWaitsInTheRouter_countsAsIfAWorkerHadIt() {
    fleet.put("a", 3, new Work(500, 10_000, 3000, 10, 100));
    at(0);
    fleet.backlog("c", new ModelBacklog("m", 10, 10_000, 5000, 0, 2500));
    fleet.put("a", 3, new Work(500, 14_000, 3000, 10, 100));

    assertThat(at(10).backlog()).satisfies(backlog -> {
      assertThat(backlog.requests()).isEqualTo(10);
      assertThat(backlog.promptTokens()).isEqualTo(10_000);
      assertThat(backlog.owedSeconds()).isEqualTo(tenPrompts(), within(1e-9));
      assertThat(backlog.morePerSecond()).as("they came in ten seconds").isEqualTo(tenPrompts() / 10, within(1e-9));
      assertThat(backlog.oldestSeconds()).isEqualTo(2.5);
    });
  }

  @Test
  void whatWaited_andIsGivenToWorkers_hasNotArrivedAgain() {
    fleet.put("a", 0, new Work(0, 0, 0, 0, 0));
    fleet.backlog("c", new ModelBacklog("m", 10, 10_000, 5000, 0, 2500));
    at(0);
    fleet.backlog("c");
    fleet.put("a", 10, new Work(0, tenPrompts() * 1e3, 10_000, 0, 0));
    FleetDemand after = at(10);
    assertThat(after.prefillPerSecond() + after.backlog().morePerSecond()).isEqualTo(0, within(1e-9));
    assertThat(after.backlog().requests()).isZero();
    assertThat(at(20).backlog()).isEqualTo(Backlog.NONE);
  }

  @Test
  void roomOfASilentHome_countsAsItWas() {
    fleet.put("a", 0, Work.NONE);
    fleet.backlog("c", new ModelBacklog("m", 10, 10_000, 5000, 0, 2500));
    at(0);
    fleet.answers("c", false);
    assertThat(at(5).backlog().requests()).isEqualTo(10);
  }

  @Test
  void refusals_areThoseOfTheLastMinute() {
    fleet.put("a", 0, Work.NONE);
    UnservedDemand refused = new UnservedDemand(Map.of("m", 50), List.of());
    at(0);
    for (int at = 5; at <= 300; at += 5) {
      meter.measure(at, fleet.status(), refused);
    }
    assertThat(at(305).backlog().refusedPerSecond()).isCloseTo(10, within(1.0));
    assertThat(at(365).backlog().refusedPerSecond()).isCloseTo(10 / Math.E, within(0.5));
    assertThat(at(3600).backlog().refusedPerSecond()).isZero();
  }

  @Test
  void whatWaits_isSharedByWorkersThatDoTheSame() {
    fleet.put("p", "c", "m", Role.PREFILL, Health.HEALTHY, 0, EngineReport.NONE, Work.NONE);
    fleet.put("d", "c", "m", Role.DECODE, Health.HEALTHY, 0, EngineReport.NONE, Work.NONE);
    fleet.put("b1", "c", "m", Role.BOTH, Health.HEALTHY, 0, EngineReport.NONE, Work.NONE);
    fleet.put("b2", "c", "m", Role.BOTH, Health.HEALTHY, 0, EngineReport.NONE, Work.NONE);
    fleet.put("b3", "c", "m", Role.BOTH, Health.HEALTHY, 0, EngineReport.NONE, Work.NONE);
    fleet.backlog("c", new ModelBacklog("m", 8, 8000, 8000, 0, 1));
    var measured = meter.measure(0, fleet.status(), UnservedDemand.NONE);

    assertThat(backlog(measured, new ScaleTarget("m", Role.BOTH)).requests()).isEqualTo(6);
    assertThat(backlog(measured, new ScaleTarget("m", Role.PREFILL)).requests()).isEqualTo(2);
    assertThat(backlog(measured, new ScaleTarget("m", Role.DECODE))).satisfies(backlog -> {
      assertThat(backlog.requests()).isEqualTo(2);
      assertThat(backlog.owedSeconds()).isZero();
    });
  }

  private static Backlog backlog(SequencedMap<ScaleTarget, DemandMeter.Measured> measured, ScaleTarget target) {
    return Objects.requireNonNull(measured.get(target)).demand().backlog();
  }

  @Test
  void modelWithoutWorkers_isATarget_andWhatWaitsForItAtNodesCounts() {
    UnservedDemand unserved = new UnservedDemand(Map.of(), List.of(new ModelBacklog("z", 3, 3000, 3000, 0, 700)));
    fleet.put("a", 0, Work.NONE);
    ScaleTarget target = new ScaleTarget("z", Role.BOTH);

    assertThat(backlog(meter.measure(0, fleet.status(), UnservedDemand.NONE), target)).isEqualTo(Backlog.NONE);
    FleetDemand demand =
        Objects.requireNonNull(meter.measure(1, fleet.status(), unserved).get(target)).demand();
    assertThat(demand.workers()).isZero();
    assertThat(demand.isActive()).isTrue();
    assertThat(demand.backlog().requests()).isEqualTo(3);
    assertThat(demand.backlog().owedSeconds()).isPositive();
  }

  @Test
  void programsThatWaitForRoom_needMemory() {
    fleet.put("a", 0, Work.NONE);
    long tokens = (long) costs.decode("h200-Qwen3-32B-tp2").kvTokens() / 2;
    fleet.backlog("c", new ModelBacklog("m", 1, tokens, 0, tokens, 1));
    assertThat(at(0).backlog().memoryLoad()).isCloseTo(0.5, within(1e-3));
  }
}
