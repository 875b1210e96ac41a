package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import io.kvasir.TestMembers;
import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.admission.Claim;
import io.kvasir.admission.ClassStatus;
import io.kvasir.admission.RefusalReason;
import io.kvasir.admission.ServiceClass;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Leave;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests of two nodes that wait for the turns of one cell, whose only worker has room for one request. */
final class ClusterAdmissionIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final AtomicInteger MODELS = new AtomicInteger();

  private static final List<Node> NODES = new ArrayList<>();

  private final String model = "model-" + MODELS.incrementAndGet();

  private record Node(ActorSystem<Void> system, NodeCells clients, PrometheusRegistry registry) implements TestNode {
    /** Requests that wait in the cells whose home it is. */
    int waiting() {
      double sum = 0;
      for (MetricSnapshot snapshot : registry.scrape()) {
        if (snapshot.getMetadata().getName().equals("kvasir_admission_waiting")
            && snapshot instanceof GaugeSnapshot gauge) {
          sum += gauge.getDataPoints().stream().mapToDouble(GaugeSnapshot.GaugeDataPointSnapshot::getValue).sum();
        }
      }
      return (int) sum;
    }

    /** Of a counter those with a result. */
    double count(String name, String result) {
      double sum = 0;
      for (MetricSnapshot snapshot : registry.scrape()) {
        if (snapshot.getMetadata().getName().equals(name) && snapshot instanceof CounterSnapshot counter) {
          sum += counter.getDataPoints().stream()
              .filter(point -> result.equals(point.getLabels().get("result")))
              .mapToDouble(CounterSnapshot.CounterDataPointSnapshot::getValue)
              .sum();
        }
      }
      return sum;
    }
  }

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

  @BeforeEach
  void addWorker() {
    NODES.getFirst().pods().add(TestPods.pod(model + "-worker").models(model).maxInFlight(1).build());
    // The cell has a home when a request is decided on.
    await(() -> {
      Decision decision = NODES.getFirst().cells().decide(request(0, null));
      if (decision instanceof Decision.Planned planned) {
        planned.close(new Outcome.Cancelled());
        return !planned.reason().startsWith(Fallback.REASON);
      }
      return false;
    });
    await(() -> NODES.stream().allMatch(node -> node.cells().models().contains(model)));
    await(() -> inFlight() == 0);
  }

  private static int describedWaiting(Node node) {
    return node.fleet().cluster().cells().stream()
        .flatMap(cell -> cell.waiting().classes().stream())
        .mapToInt(ClassStatus::length)
        .sum();
  }

  @Test
  void nodesShareOneQueue_inTheOrderOfArrival() {
    Decision.Planned first = planned(now(home()));
    CompletableFuture<Decision> second = inTurn(other(), claim("a", 0), Cancellation.NONE);
    await(() -> home().waiting() == 1);
    CompletableFuture<Decision> third = inTurn(home(), claim("a", 0), Cancellation.NONE);
    await(() -> home().waiting() == 2);
    assertThat(describedWaiting(home())).isEqualTo(2);
    assertThat(describedWaiting(other())).as("as another node sees it").isEqualTo(2);
    assertThat(first.waitedMillis()).isZero();
    assertThat(second).isNotDone();
    assertThat(third).isNotDone();

    first.close(new Outcome.Completed(10, 0, 10, 1000));
    Decision.Planned afterFirst = planned(second.join());
    assertThat(afterFirst.waitedMillis()).isPositive();
    assertThat(afterFirst.reason()).contains("; waited=");
    assertThat(third).isNotDone();

    afterFirst.close(new Outcome.Completed(10, 0, 10, 1000));
    planned(third.join()).close(new Outcome.Completed(10, 0, 10, 1000));
    await(() -> home().waiting() == 0 && inFlight() == 0);
  }

  @Test
  void clientThatLeaves_givesItsPlaceUp() {
    Decision.Planned first = planned(now(home()));
    CancellationSource client = new CancellationSource();
    CancellationSource otherClient = new CancellationSource();
    CompletableFuture<Decision> here = inTurn(home(), claim("a", 0), client);
    CompletableFuture<Decision> there = inTurn(other(), claim("a", 0), otherClient);
    await(() -> home().waiting() == 2);

    client.cancel();
    otherClient.cancel();
    assertThat(here.join()).isInstanceOf(Decision.NoWorker.class);
    assertThat(there.join()).isInstanceOf(Decision.NoWorker.class);
    await(() -> home().waiting() == 0);

    first.close(new Outcome.Cancelled());
    await(() -> inFlight() == 0);
  }

  @Test
  void requestsBeyondTheBounds_areRefusedWithFigures() {
    Decision.Planned first = planned(now(home()));
    List<CompletableFuture<Decision>> two = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      two.add(inTurn(other(), claim("a", 0), Cancellation.NONE));
    }
    await(() -> home().waiting() == 2);
    Decision refused = inTurn(other(), claim("a", 0), Cancellation.NONE).join();
    assertThat(refused)
        .isInstanceOfSatisfying(
            Decision.NoWorker.class,
            none -> {
              assertThat(none.reason()).isEqualTo(Decision.NoWorkerReason.NOT_ADMITTED);
              assertThat(none.refusal())
                  .isNotNull()
                  .returns(RefusalReason.TENANT_QUEUE_FULL, AdmissionRefusal::reason)
                  .returns(true, AdmissionRefusal::callersOwn)
                  .returns(2L, AdmissionRefusal::limit);
            });
    first.close(new Outcome.Cancelled());
    CompletableFuture.allOf(
            two.stream()
                .map(each -> each.thenAccept(decision -> planned(decision).close(new Outcome.Cancelled())))
                .toArray(CompletableFuture[]::new))
        .join();
  }

  @Test
  void waitGoesOn_whenTheHomeLeaves() {
    Node staying = other();
    Node leaving = home();
    Decision.Planned first = planned(now(staying));
    CompletableFuture<Decision> second = inTurn(staying, claim("a", 0), Cancellation.NONE);
    await(() -> leaving.waiting() == 1);

    Cluster.get(leaving.system()).manager().tell(
        Leave.create(Cluster.get(leaving.system()).selfMember().address()));
    await(() -> staying.cells().isHome(model));
    first.close(new Outcome.Completed(10, 0, 10, 1000));
    Decision.Planned moved = planned(second.join());
    assertThat(moved.reason()).doesNotStartWith(Fallback.REASON);
    moved.close(new Outcome.Cancelled());

    NODES.remove(leaving);
    leaving.system().terminate();
    leaving.system().getWhenTerminated().toCompletableFuture().join();
    NODES.add(node());
  }

  @Test
  void bulkOfAnotherNode_isTakenBackForAnUrgentRequest_andHasItsPlaceByArrival() {
    Claim bulk = new Claim(ServiceClass.BULK, "b", 1, null, 100, 0).preemptible(1);
    Decision.Planned sent = planned(inTurn(other(), bulk, Cancellation.NONE).join());
    CompletableFuture<Void> preempted = new CompletableFuture<>();
    sent.last().reservation().onPreempt(() -> preempted.complete(null));

    CompletableFuture<Decision> urgent =
        inTurn(home(), new Claim(ServiceClass.INTERACTIVE, "a", 1, null, 100, 0), Cancellation.NONE);
    preempted.join();
    assertThat(urgent).as("the place is not free before its holder has given it back").isNotDone();
    sent.close(new Outcome.Preempted());
    Decision.Planned urgentSent = planned(urgent.join());

    Claim again = bulk.preempted(60_000);
    CompletableFuture<Decision> later =
        inTurn(home(), new Claim(ServiceClass.BULK, "b", 1, null, 100, 30_000), Cancellation.NONE);
    await(() -> home().waiting() == 1);
    CompletableFuture<Decision> bulkAgain = inTurn(other(), again, Cancellation.NONE);
    await(() -> home().waiting() == 2);
    urgentSent.close(new Outcome.Completed(10, 0, 10, 1000));
    Decision.Planned first = planned(bulkAgain.join());
    assertThat(later).isNotDone();
    assertThat(first.waitedMillis()).isGreaterThanOrEqualTo(60_000);
    first.close(new Outcome.Completed(10, 0, 10, 1000));
    planned(later.join()).close(new Outcome.Cancelled());
    await(() -> home().waiting() == 0 && inFlight() == 0);
    await(() -> home().count("kvasir_admission_preemptions", "preempted") > 0);
  }

  @Test
  void bulkWhoseAnswerHasBegun_isLeftAlone() {
    Claim bulk = new Claim(ServiceClass.BULK, "b", 1, null, 100, 0).preemptible(1);
    Decision.Planned sent = planned(inTurn(other(), bulk, Cancellation.NONE).join());
    CompletableFuture<Void> preempted = new CompletableFuture<>();
    sent.last().reservation().onPreempt(() -> preempted.complete(null));
    CompletableFuture<Decision> urgent =
        inTurn(home(), new Claim(ServiceClass.INTERACTIVE, "a", 1, null, 100, 0), Cancellation.NONE);

    preempted.join();
    // The first byte has passed meanwhile.
    sent.last().reservation().firstToken();
    assertThat(urgent).isNotDone();
    sent.close(new Outcome.Completed(10, 0, 10, 1000));

    planned(urgent.join()).close(new Outcome.Cancelled());
    await(() -> inFlight() == 0);
    await(() -> home().count("kvasir_admission_preemptions", "too_late") > 0);
  }

  private static Decision.Planned planned(Decision decision) {
    assertThat(decision).isInstanceOf(Decision.Planned.class);
    return (Decision.Planned) decision;
  }

  private Decision now(Node node) {
    return inTurn(node, claim("a", 0), Cancellation.NONE).join();
  }

  private CompletableFuture<Decision> inTurn(Node node, Claim claim, Cancellation client) {
    return CompletableFuture.supplyAsync(
        () -> node.cells().decideInTurn(request(1, claim), client), Executors.newVirtualThreadPerTaskExecutor());
  }

  private static Claim claim(String tenant, long waitedMillis) {
    return new Claim(ServiceClass.DEFAULT, tenant, 1, null, 100, waitedMillis);
  }

  private DecisionRequest request(int number, @Nullable Claim claim) {
    return new DecisionRequest(
        "r" + number, model, null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(Chain.EMPTY, 100),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE, null, claim);
  }

  private Node home() {
    return NODES.stream().filter(node -> node.cells().isHome(model)).findAny().orElseThrow();
  }

  private Node other() {
    return NODES.stream().filter(node -> !node.cells().isHome(model)).findAny().orElseThrow();
  }

  private int inFlight() {
    return home().fleet().workers().stream()
        .filter(worker -> worker.worker().models().contains(model))
        .mapToInt(worker -> worker.load().inFlight())
        .sum();
  }

  private static CellSettings settings() {
    ClassSettings some =
        new ClassSettings(
            Duration.ofMillis(50), Duration.ofMinutes(10), Duration.ofMinutes(10), 10, 2, 1 << 20, 1);
    return TestSettings.with(
        new AdmissionSettings(
            true, TestSettings.ofEveryClass(some), 1000, 2, 0.02, 0.5, Map.of(), Duration.ofMinutes(10)));
  }

  private static Node node() {
    ActorSystem<Void> system = TestMembers.start(NODES.isEmpty() ? null : NODES.getFirst().system());
    PrometheusRegistry registry = new PrometheusRegistry();
    Metrics metrics = new Metrics(registry);
    return new Node(
        system,
        CellsWiring.start(
            system,
            settings(),
            PartitionPolicy.SERVE,
            Set.of(),
            TestProfiles.builtIn("least-loaded", metrics),
            (worker, pod) -> Source.never(),
            pod -> CompletableFuture.completedFuture(true),
            RetentionRelease.NONE,
            metrics,
            TestSettings.lines(),
            DecisionLog.off(metrics),
            NanoClock.SYSTEM),
        registry);
  }

  private static void await(BooleanSupplier condition) {
    Await.within(PATIENCE, condition::getAsBoolean);
  }
}
