package io.kvasir.scale.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.ModelBacklog;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.UnservedDemand;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerStatus.Work;
import io.kvasir.routing.Role;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.scale.ScaleGoals;
import io.kvasir.scale.ScaleTarget;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class ScaleMonitorTest {
  private static final ScaleTarget TARGET = new ScaleTarget("m", Role.BOTH);
  private static final ScaleGoals GOALS =
      new ScaleGoals(
          Duration.ofSeconds(2), Duration.ofMillis(500), 0.7, Duration.ofMinutes(5), Duration.ofMinutes(10), 1, 64);

  private static final ScaleTarget ZERO = new ScaleTarget("z", Role.BOTH);
  private static final ScaleGoals FROM_ZERO =
      new ScaleGoals(
          Duration.ofSeconds(2), Duration.ofMillis(500), 0.7, Duration.ofMinutes(5), Duration.ofMinutes(10), 0, 64);

  private final TestFleet fleet = new TestFleet();
  private final List<ScaleReport> published = new ArrayList<>();
  private final ScaleSettings settings =
      new ScaleSettings(true, Duration.ofSeconds(5), GOALS, Map.of("z", FROM_ZERO), Set.of(ZERO));
  private long nowNanos;
  private boolean leads = true;
  private int descriptions;
  private final ScaleMonitor monitor = monitor();

  private ScaleMonitor monitor() {
    return new ScaleMonitor(
        settings,
        () -> {
          descriptions++;
          return fleet.status();
        },
        CostModel.bundled(), () -> leads, published::add, () -> nowNanos);
  }

  private void pass(int seconds) {
    nowNanos += seconds * 1_000_000_000L;
  }

  @Test
  void leader_publishesWhatItShows() {
    fleet.put("a", 0, Work.NONE);
    monitor.tick();
    pass(5);
    fleet.put("a", 0, new Work(0, 14_000, 0, 0, 0));
    monitor.tick();

    assertThat(published).hasSize(2).last().isEqualTo(monitor.report());
    assertThat(monitor.report().of(TARGET)).hasValueSatisfying(advice -> {
      assertThat(advice.demand().prefillPerSecond()).isEqualTo(2.8);
      assertThat(advice.desired()).isEqualTo(2);
    });
  }

  @Test
  void otherNode_showsTheSame_andAsksNobody_untilTheLeaderIsSilent() {
    fleet.put("a", 1, Work.NONE);
    monitor.tick();
    leads = false;
    ScaleMonitor other = monitor();
    other.follow(published.getFirst());
    int before = descriptions;
    pass(10);
    other.tick();
    assertThat(descriptions).isEqualTo(before);
    assertThat(other.report()).isEqualTo(monitor.report());

    pass(5);
    other.tick();
    assertThat(descriptions).isEqualTo(before + 1);
    assertThat(published).as("only the leader publishes").hasSize(1);
  }

  @Test
  void otherNode_goesOnFromTheLeadersNumber() {
    for (String worker : List.of("a", "b", "c", "d", "e")) {
      fleet.put(worker, 1, Work.NONE);
    }
    monitor.tick();
    leads = false;
    ScaleMonitor other = monitor();
    other.follow(published.getFirst());
    leads = true;
    pass(5);
    other.tick();
    assertThat(other.report().of(TARGET).orElseThrow().desired()).isEqualTo(5);
  }

  @Test
  void silentHomes_andNodes_areNamed() {
    fleet.put("a", 1, Work.NONE);
    monitor.tick();
    assertThat(monitor.report().missingCells()).isEmpty();
    fleet.answers("c", false);
    pass(5);
    monitor.tick();
    assertThat(monitor.report().missingCells()).containsExactly("c");
    assertThat(monitor.report().missingNodes()).containsExactly("node:1");
    assertThat(monitor.report().of(TARGET)).isPresent();
  }

  @Test
  void modelWithoutWorkers_isWokenByWhoWaits() {
    UnservedDemand waits = new UnservedDemand(Map.of(), List.of(new ModelBacklog("z", 1, 100, 100, 0, 10)));
    fleet.put("a", 1, Work.NONE);
    monitor.tick();
    assertThat(monitor.report().of(ZERO).orElseThrow().desired()).isZero();

    assertThat(monitor.add("node:2", waits)).as("to be worked out at once").isTrue();
    pass(1);
    monitor.tick();
    assertThat(monitor.report().of(ZERO)).hasValueSatisfying(advice -> {
      assertThat(advice.desired()).isEqualTo(1);
      assertThat(advice.demand().isActive()).isTrue();
    });
    assertThat(monitor.add("node:2", waits)).as("it is active").isFalse();
  }

  @Test
  void oneLongPrompt_ordersOneWorker_wheneverItComes() {
    UnservedDemand waits =
        new UnservedDemand(Map.of(), List.of(new ModelBacklog("z", 1, 30_000, 30_000, 0, 10)));
    fleet.put("a", 1, Work.NONE);
    for (int i = 0; i < 20; i++) {
      monitor.tick();
      pass(5);
    }
    monitor.tick();
    assertThat(monitor.add("node:2", waits)).isTrue();
    nowNanos += 10_000_000;
    monitor.tick();
    assertThat(monitor.report().of(ZERO).orElseThrow().desired()).isEqualTo(1);
  }

  @Test
  void fleetThatIsFoundLate_isNotAdvisedToShrink_beforeFewerHaveDoneForAWhile() {
    monitor.tick();
    assertThat(monitor.report().of(ZERO).orElseThrow().desired()).isZero();
    for (String worker : List.of("a", "b", "c", "d", "e")) {
      fleet.put(worker, "c", "z", Role.BOTH, Health.HEALTHY, 1, EngineReport.NONE, Work.NONE);
    }
    for (int seconds = 5; seconds < 600; seconds += 5) {
      pass(5);
      monitor.tick();
      assertThat(monitor.report().of(ZERO).orElseThrow().desired()).isEqualTo(5);
    }
    pass(5);
    monitor.tick();
    assertThat(monitor.report().of(ZERO).orElseThrow().desired()).isEqualTo(1);
  }

  @Test
  void listeners_areCalled_untilTheyEnd() {
    List<ScaleReport> seen = new ArrayList<>();
    Runnable end = monitor.listen(seen::add);
    fleet.put("a", 1, Work.NONE);
    monitor.tick();
    end.run();
    monitor.tick();
    assertThat(seen).hasSize(1);
  }

  @Test
  void gauges_showEveryTarget() {
    ScaleGauges gauges = new ScaleGauges(monitor::report);
    fleet.put("a", 3, new Work(2500, 0, 0, 0, 0));
    monitor.tick();
    assertThat(value(gauges, "kvasir_scale_desired_workers")).isEqualTo(1);
    assertThat(value(gauges, "kvasir_scale_in_flight")).isEqualTo(3);
    assertThat(value(gauges, "kvasir_scale_prefill_owed_seconds")).isEqualTo(2.5);
    assertThat(gauges.collect().stream().map(each -> each.getMetadata().getName()))
        .containsExactlyInAnyOrderElementsOf(
            gauges.getMetricFamilyDescriptors().stream().map(each -> each.getMetadata().getName()).toList());
  }

  /** An autoscaler that takes a number as it is would end workers that are to be found yet. */
  @Test
  void numbersThatAreNotKnownYet_areNotThere() {
    ScaleGauges gauges = new ScaleGauges(monitor::report);
    monitor.tick();
    assertThat(monitor.report().of(ZERO)).hasValueSatisfying(advice ->
        assertThat(advice.reason()).startsWith("not known yet"));
    List<String> advised =
        List.of("kvasir_scale_desired_workers", "kvasir_scale_needed_workers", "kvasir_scale_forecast_workers");
    assertThat(advised).allSatisfy(name -> assertThat(points(gauges, name)).isEmpty());
    assertThat(value(gauges, "kvasir_scale_workers")).isZero();

    pass(60);
    monitor.tick();
    assertThat(advised).allSatisfy(name -> assertThat(value(gauges, name)).isZero());
  }

  private static double value(ScaleGauges gauges, String name) {
    GaugeDataPointSnapshot first = points(gauges, name).getFirst();
    assertThat(first.getLabels().get("role")).isEqualTo("both");
    return first.getValue();
  }

  private static List<GaugeDataPointSnapshot> points(ScaleGauges gauges, String name) {
    for (MetricSnapshot snapshot : gauges.collect()) {
      if (snapshot instanceof GaugeSnapshot gauge && gauge.getMetadata().getName().equals(name)) {
        return gauge.getDataPoints();
      }
    }
    throw new AssertionError(name + " is not there");
  }
}
