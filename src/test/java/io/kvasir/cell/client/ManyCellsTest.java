package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.TestMembers;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.CellSettings.HealthSettings;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Two router nodes whose cells have two workers each, and models with more. */
final class ManyCellsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int MOST = 2;
  private static final List<Node> NODES = new ArrayList<>();

  private record Node(ActorSystem<Void> system, NodeCells clients) implements TestNode {}

  @BeforeAll
  static void start() {
    NODES.add(node());
    NODES.add(node());
  }

  @AfterAll
  static void stop() {
    TestMembers.stop(NODES.stream().map(Node::system).toList());
    NODES.clear();
  }

  /** Nodes that add pods at the same moment do not know of each other's. */
  @Test
  void addedAtOnceOnBothNodes_cellsHaveNoMoreThanTheyMay_andBothNodesAgree() {
    List<CompletableFuture<Void>> adding = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      Pods there = pods(i % 2);
      PodSpec pod = pod("both", "both-" + i, 4);
      adding.add(CompletableFuture.runAsync(() -> there.add(pod)));
    }
    adding.forEach(CompletableFuture::join);
    for (Node node : NODES) {
      FleetDescription fleet = node.fleet();
      await(() -> sizes(fleet, "both").values().stream().mapToLong(size -> size).sum() == 7);
      await(() -> sizes(fleet, "both").keySet().containsAll(List.of("both", "both~2", "both~3", "both~4")));
      assertThat(sizes(fleet, "both").values()).allMatch(size -> size <= MOST);
    }
    await(() -> cellsByWorker(fleet(0), "both").equals(cellsByWorker(fleet(1), "both")));
  }

  private static Map<String, Long> sizes(FleetDescription fleet, String model) {
    return cellsByWorker(fleet, model).values().stream()
        .collect(Collectors.groupingBy(cell -> cell, Collectors.counting()));
  }

  @Test
  void conversation_staysInItsCell_andFindsItsPrefix_whicheverNodeItArrivesAt() {
    addAll("talk", 6, 1000);
    Set<String> cells = new HashSet<>();
    for (int talk = 0; talk < 12; talk++) {
      long[] prompt = new SplittableRandom(talk).longs(200).toArray();
      Set<String> used = new HashSet<>();
      int before = 0;
      for (int turn = 0; turn < 4; turn++) {
        int length = 80 + 30 * turn;
        Decision.Planned planned =
            (Decision.Planned)
                cells(turn % 2).decide(request("talk", new Chain(Arrays.copyOf(prompt, length), 16), Map.of()));
        used.add(cell(planned));
        assertThat(planned.last().depth()).as("turn %s: %s", turn, planned.reason()).isEqualTo(before);
        before = length;
        planned.close(new Outcome.Completed(length * 16, Outcome.UNKNOWN, 5, 1000));
      }
      assertThat(used).hasSize(1);
      cells.addAll(used);
    }
    assertThat(cells).as("conversations spread").hasSizeGreaterThan(1);
  }

  @Test
  void cellThatIsFull_theNextOneIsAsked_untilAllAre() {
    addAll("full", 5, 2);
    List<Decision.Planned> taken = new ArrayList<>();
    Set<String> cells = new HashSet<>();
    for (int i = 0; i < 10; i++) {
      Decision.Planned planned = (Decision.Planned) cells(i % 2).decide(session("full", "one"));
      cells.add(cell(planned));
      taken.add(planned);
    }
    assertThat(cells).hasSize(3);
    assertThat(cells(0).decide(session("full", "one")))
        .isInstanceOfSatisfying(
            Decision.NoWorker.class, none -> assertThat(none.reason()).isEqualTo(Decision.NoWorkerReason.ALL_FULL));
    taken.forEach(planned -> planned.close(new Outcome.Cancelled()));
  }

  @Test
  void stepAnew_staysWithTheOtherSteps_andPodsAreFoundWhateverTheirCell() {
    addAll("step", 4, 100);
    Map<String, String> cells = cellsByWorker(fleet(0), "step");
    DecisionRequest request = session("step", "x");
    cells.forEach((worker, cell) -> {
      DecisionRequest anew =
          request.replacing(new DecisionRequest.StepReplacement(RoutingPlan.WHOLE, Map.of("other", worker)),
              Set.of(worker));
      Decision.Planned planned = (Decision.Planned) cells(0).decide(anew);
      assertThat(cells.get(planned.last().worker().id())).isEqualTo(cell);
      planned.close(new Outcome.Cancelled());
    });
    assertThat(pods(1).drain("step-3")).isTrue();
    await(() -> workers(fleet(0), "step").stream().filter(WorkerStatus::draining).count() == 1);
    assertThat(pods(0).remove("step-0")).isTrue();
    await(() -> workers(fleet(1), "step").size() == 3);
    Map<String, String> after = cellsByWorker(fleet(1), "step");
    after.forEach((worker, cell) -> assertThat(cell).as(worker).isEqualTo(cells.get(worker)));
  }

  @Test
  void adapter_goesToTheCellsWhoseWorkersHaveIt() {
    addAll("base", 4, 100);
    PodSpec plain = pod("base", "base-with", 100);
    PodSpec with =
        TestPods.pod(plain.name())
            .url(plain.url())
            .role(plain.role())
            .models(new LinkedHashSet<>(List.of("base", "adapter")))
            .maxInFlight(100)
            .engine(plain.engine().name())
            .build();
    pods(0).add(with);
    await(() -> chosen(session("adapter", "a")));
    for (int i = 0; i < 20; i++) {
      Decision.Planned planned = (Decision.Planned) cells(i % 2).decide(session("adapter", "s" + i));
      assertThat(planned.last().worker().id()).isEqualTo("base-with");
      planned.close(new Outcome.Cancelled());
    }
    assertThat(cells(1).models()).contains("base", "adapter");
  }

  @Test
  void explained_withItsCells_andThePressureOnThem_onEveryNode() {
    addAll("seen", 4, 2);
    Decision.Planned one = (Decision.Planned) cells(0).decide(session("seen", "x"));
    await(() -> NODES.stream().allMatch(node -> pressure(node.fleet(), cell(one)) == 0.25));
    DecisionRecord told = cells(1).explain(session("seen", "x"));
    assertThat(told.refused()).isNull();
    List<DecisionRecord.CellOption> options = Objects.requireNonNull(told.cells());
    assertThat(options).extracting(DecisionRecord.CellOption::cell).containsExactlyInAnyOrder("seen", "seen~2");
    assertThat(options).filteredOn(option -> option.cell().equals(cell(one)))
        .singleElement().extracting(DecisionRecord.CellOption::pressure).isEqualTo(0.25);
    one.close(new Outcome.Cancelled());
  }

  private static double pressure(FleetDescription fleet, String name) {
    for (ClusterStatus.CellStatus cell : fleet.cluster().cells()) {
      Double pressure = cell.pressure();
      if (cell.name().equals(name) && pressure != null) {
        return pressure;
      }
    }
    return Double.NaN;
  }

  private static String cell(Decision.Planned planned) {
    String reason = planned.reason();
    String cell = reason.substring(reason.indexOf("; cell=") + "; cell=".length());
    return cell.contains(";") ? cell.substring(0, cell.indexOf(';')) : cell;
  }

  private static Map<String, String> cellsByWorker(FleetDescription fleet, String model) {
    Map<String, String> byWorker = new HashMap<>();
    workers(fleet, model).forEach(worker -> byWorker.put(worker.worker().id(), worker.cell()));
    return byWorker;
  }

  private static List<WorkerStatus> workers(FleetDescription fleet, String model) {
    return fleet.workers().stream().filter(worker -> worker.worker().models().contains(model)).toList();
  }

  /** Adds pods, and waits until all of them can be sent requests from both nodes. */
  private static void addAll(String model, int count, int maxInFlight) {
    for (int i = 0; i < count; i++) {
      pods(0).add(pod(model, model + "-" + i, maxInFlight));
    }
    for (Node node : NODES) {
      await(
          () ->
              workers(node.fleet(), model).stream()
                      .filter(worker -> worker.health() == WorkerStatus.Health.HEALTHY)
                      .count()
                  == count);
      // Until the word is out, they are known as cells that can take nothing.
      await(
          () ->
              cellsByWorker(node.fleet(), model).values().stream().distinct().allMatch(
                  cell -> Math.abs(pressure(node.fleet(), cell)) < 0.5));
    }
  }

  private static boolean chosen(DecisionRequest request) {
    return NODES.stream()
        .allMatch(
            node -> {
              if (node.cells().decide(request) instanceof Decision.Planned planned) {
                planned.close(new Outcome.Cancelled());
                return true;
              }
              return false;
            });
  }

  private static ClusterCells cells(int node) {
    return NODES.get(node).cells();
  }

  private static Pods pods(int node) {
    return NODES.get(node).pods();
  }

  private static FleetDescription fleet(int node) {
    return NODES.get(node).fleet();
  }

  private static DecisionRequest session(String model, String session) {
    return request(model, Chain.EMPTY, Map.of("session-key", session));
  }

  private static DecisionRequest request(String model, Chain chain, Map<String, String> texts) {
    return new DecisionRequest(
        "r", model, null, RequestShape.INDIVISIBLE,
        new DecisionRequest.Prompt(chain, Math.max(100, chain.length() * 16)),
        new PreparedSlots(texts, null, null), true, DecisionRequest.Constraints.NONE);
  }

  private static PodSpec pod(String model, String name, int maxInFlight) {
    return TestPods.pod(name).models(model).maxInFlight(maxInFlight).capacityBlocks(10_000).build();
  }

  private static Node node() {
    ActorSystem<Void> system =
        TestMembers.start(
            NODES.isEmpty() ? null : NODES.getFirst().system(),
            """
            pekko {
              # A cell that moves forgets what a test looks for.
              cluster.sharding.rebalance-interval = 1 h
              # Both nodes live as long as the tests, however busy the machine is.
              cluster.failure-detector.acceptable-heartbeat-pause = 60 s
              coordinated-shutdown.run-by-actor-system-terminate = off
            }
            """);
    Metrics metrics = new Metrics(new PrometheusRegistry());
    CellSettings tests = TestSettings.CELL;
    HealthSettings health = tests.health();
    return new Node(
        system,
        CellsWiring.start(
            system,
            new CellSettings(
                new CellSettings.IndexSettings(64, MOST, 1 << 24),
                new CellSettings.RemoteSettings(
                    PATIENCE, tests.remote().reservationLease(), 1, Duration.ofSeconds(5)),
                new HealthSettings(
                    health.probeInterval(), health.probeIntervalDown(), 10, PATIENCE, 3, PATIENCE, health.reports(),
                    // Requests of these tests stay as long as they like.
                    new CellSettings.StallSettings(
                        Duration.ofHours(1), 2, Duration.ofHours(2), Duration.ofHours(2), Duration.ofHours(1))),
                tests.prediction(), tests.accuracy()),
            PartitionPolicy.SERVE,
            Set.of(),
            TestProfiles.builtIn("expected-cost", metrics),
            (worker, pod) -> Source.never(),
            pod -> CompletableFuture.completedFuture(true),
            RetentionRelease.NONE,
            metrics,
            TestSettings.lines(),
            DecisionLog.off(metrics),
            NanoClock.SYSTEM));
  }

  private static void await(Await.Condition condition) {
    Await.within(PATIENCE, condition);
  }
}
