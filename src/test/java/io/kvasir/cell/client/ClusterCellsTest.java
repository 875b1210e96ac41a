package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.Await;
import io.kvasir.TestMembers;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HeldPrefixes;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.Pods;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.home.Cell;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.peer.PeerConnections;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.telemetry.DecisionJson;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.net.ConnectException;
import java.net.URI;
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
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Leave;
import org.apache.pekko.serialization.Serialization;
import org.apache.pekko.serialization.SerializationExtension;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Router nodes, each an actor system of its own, over real remoting. Every test has a cell of its own, at
 * home on whichever node sharding chose.
 */
final class ClusterCellsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final AtomicInteger CELLS = new AtomicInteger();
  private static final List<Node> NODES = new ArrayList<>();

  private final String model = "model-" + CELLS.incrementAndGet();

  private record Node(ActorSystem<Void> system, NodeCells clients, PrometheusRegistry registry) implements TestNode {}

  @BeforeAll
  static void start() {
    node();
    node();
  }

  @AfterAll
  static void stop() {
    TestMembers.stop(NODES.stream().map(Node::system).toList());
    NODES.clear();
  }

  @Test
  void decide_unknownModel() {
    assertThat(home().cells().decide(request("nobody's")))
        .isInstanceOfSatisfying(
            Decision.NoWorker.class,
            none -> assertThat(none.reason()).isEqualTo(Decision.NoWorkerReason.UNKNOWN_MODEL));
  }

  @Test
  void decide_atHome_booksAndReleasesOnce() {
    add("a", 4);
    Decision.Chosen chosen = awaitChosen(home());
    assertThat(inFlight()).isEqualTo(1);
    assertThat(pending()).isEqualTo(100);
    chosen.reservation().firstToken();
    chosen.reservation().firstToken();
    assertThat(pending()).isZero();
    assertThat(inFlight()).isEqualTo(1);
    chosen.reservation().close(new Outcome.Cancelled());
    chosen.reservation().close(new Outcome.Cancelled());
    assertThat(inFlight()).isZero();
  }

  @Test
  void decide_fullWorkerYields_thenAllFull() {
    add("b", 1);
    add("c", 1);
    await(() -> healthy() == 2);
    Set<String> chosen = new HashSet<>();
    chosen.add(awaitChosen(home()).worker().id());
    chosen.add(awaitChosen(home()).worker().id());
    assertThat(chosen).containsExactlyInAnyOrder("b", "c");
    assertThat(home().cells().decide(request(model)))
        .isInstanceOfSatisfying(
            Decision.NoWorker.class, none -> assertThat(none.reason()).isEqualTo(Decision.NoWorkerReason.ALL_FULL));
  }

  @Test
  void remove_whileReserved_newWorkerStartsUnbooked() {
    add("d", 4);
    Decision.Chosen chosen = awaitChosen(home());
    assertThat(home().pods().remove("d")).isTrue();
    await(() -> workers().isEmpty());
    add("d", 4);
    await(() -> healthy() == 1);
    chosen.reservation().close(new Outcome.Cancelled());
    assertThat(inFlight()).isZero();
  }

  @Test
  void decision_namesTheCellAndTheNodeThatMadeIt() {
    add("origin", 4);
    Decision.Origin local = origin(home());
    Decision.Origin remote = origin(other());

    assertThat(local.way()).isEqualTo(Decision.Way.LOCAL);
    assertThat(local.home()).isNull();
    assertThat(remote.way()).isIn(Decision.Way.LINE, Decision.Way.CLUSTER);
    assertThat(remote.cell()).isEqualTo(local.cell());
    assertThat(remote.home()).matches("127\\.0\\.0\\.1:\\d+");
  }

  /** The origin of a decision that is no fallback. */
  private Decision.Origin origin(Node node) {
    CompletableFuture<Decision.Origin> origin = new CompletableFuture<>();
    await(
        () -> {
          if (node.cells().decide(request(model)) instanceof Decision.Planned found) {
            found.close(new Outcome.Cancelled());
            Decision.Origin from = Objects.requireNonNull(found.origin());
            if (from.way() != Decision.Way.FALLBACK && (from.way() == Decision.Way.LOCAL || from.home() != null)) {
              origin.complete(from);
            }
          }
          return origin.isDone();
        });
    return origin.join();
  }

  /** What preparers fill where a request arrives has to survive the way to the home of its cell. */
  @Test
  void decide_fromAway_whatWasPreparedCrosses() {
    PreparedSlots prepared =
        new PreparedSlots(
            Map.of("session-key", "s"), Map.of("hash-key", 5L, "small", 1L),
            Map.of("images", new Chain(new long[] {-1, 2}, 16)));
    DecisionRequest request =
        new DecisionRequest(
            "r", model, "sticky", RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 7),
            prepared, true, DecisionRequest.Constraints.excluding(Set.of("a")));
    ActorSystem<Void> system = NODES.getFirst().system();
    Serialization serialization = SerializationExtension.get(system);
    Cell.Decide decide = new Cell.Decide(request, "n", 3, system.ignoreRef());

    byte[] bytes = serialization.serialize(decide).get();
    Cell.Decide arrived = serialization.deserialize(bytes, Cell.Decide.class).get();

    assertThat(arrived.request()).isEqualTo(request);
  }

  @Test
  void descriptionOfAFullCell_fitsIntoAFrame() {
    ActorSystem<Void> system = NODES.getFirst().system();
    long frame = system.settings().config().getBytes("pekko.remote.artery.advanced.maximum-frame-size");
    Set<String> adapters =
        IntStream.range(0, 64).mapToObj(i -> "tenant-" + i + "-support-bot").collect(Collectors.toSet());
    List<WorkerStatus> workers = IntStream.range(0, CellSettings.MAX_SLOTS)
        .mapToObj(slot -> status(TestPods.pod("engine-7c9f6bd54d-" + slot).models(adapters).build(), slot))
        .toList();
    Cell.Description cell = new Cell.Description(workers, "10.0.0.1:7355", List.of(), null);

    Serialization serialization = SerializationExtension.get(system);
    byte[] bytes = serialization.serialize(cell).get();

    assertThat((long) bytes.length).isLessThan(frame / 2);
    assertThat(serialization.deserialize(bytes, Cell.Description.class).get().workers()).isEqualTo(workers);
  }

  private static WorkerStatus status(PodSpec pod, int slot) {
    return new WorkerStatus(
        pod.worker(0, slot), "m", WorkerStatus.Health.UNHEALTHY,
        "a probe could not reach it: connection refused " + slot, false,
        new WorkerStatus.Load(slot, 7L * slot, new EngineReport(slot, 1, slot / 256.0), null, WorkerStatus.Work.NONE),
        new WorkerStatus.IndexState(
            900 * slot, 1 << 20, slot, false, 1, 0, 31L * slot, new WorkerStatus.Promises(99L * slot, slot),
            WorkerStatus.Speculation.NONE, 16, 1),
        WorkerStatus.EventStream.NONE);
  }

  /** A pod's first model names its cell: two nodes that disagree on it would have two cells. */
  @Test
  void podsThatCross_keepTheOrderOfTheirModels() {
    ActorSystem<Void> system = NODES.getFirst().system();
    Serialization serialization = SerializationExtension.get(system);
    for (List<String> models : List.of(List.of("m", "a", "z", "b"), List.of("z", "b", "a"))) {
      PodSpec pod = pod(model, "p", 4);
      PodSpec named =
          TestPods.pod(pod.name())
              .url(pod.url())
              .role(pod.role())
              .models(new LinkedHashSet<>(models))
              .engine(pod.engine().name())
              .events(FEEDS)
              .kvTransfer(TRANSFER)
              .build();
      PodEntry entry = new PodEntry(named, PodSource.ADMIN);
      byte[] bytes = serialization.serialize(entry).get();
      PodEntry arrived = serialization.deserialize(bytes, PodEntry.class).get();
      assertThat(arrived.spec().models()).containsExactlyElementsOf(models);
      assertThat(arrived.cell()).isEqualTo(entry.cell());
    }
  }

  @Test
  void decide_fromAway_goesByWhatWasPrepared() {
    add("y", 1000);
    add("z", 1000);
    await(() -> healthy() == 2);
    Map<Long, Set<String>> workers = new HashMap<>();
    for (long key = 1; key <= 20; key++) {
      for (int again = 0; again < 3; again++) {
        PreparedSlots prepared = new PreparedSlots(null, Map.of("hash-key", key << 56), null);
        DecisionRequest request =
            new DecisionRequest(
                "r", model, "consistent-hash", RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(Chain.EMPTY, 7),
                prepared, true, DecisionRequest.Constraints.NONE);
        Decision.Chosen chosen = awaitChosen(other(), request);
        chosen.reservation().close(new Outcome.Cancelled());
        workers.computeIfAbsent(key, _ -> new HashSet<>()).add(chosen.worker().id());
      }
    }
    assertThat(workers.values()).allMatch(chosen -> chosen.size() == 1).contains(Set.of("y"), Set.of("z"));
  }

  /** The cluster has the first questions, until there is a line. */
  @Test
  void decide_fromAway_goesOverALine() {
    add("lined", 4);
    await(() -> healthy() == 1);
    awaitChosen(home()).reservation().close(new Outcome.Cancelled());
    await(() -> {
      awaitChosen(other()).reservation().close(new Outcome.Cancelled());
      return overLines() > 0;
    });
    long before = overLines();
    for (int i = 0; i < 10; i++) {
      Decision.Chosen chosen = awaitChosen(other());
      assertThat(inFlight()).isEqualTo(1);
      chosen.reservation().firstToken();
      chosen.reservation().close(new Outcome.Completed(100, 0, 1, 1));
      await(() -> inFlight() == 0);
    }
    assertThat(overLines()).isEqualTo(before + 10);
  }

  /** Longer than the frames of remoting, which would drop it without a word. */
  @Test
  void longPrompt_goesOverALine_orIsDecidedWithoutTheHomeAtOnce() {
    add("long", 4);
    await(() -> healthy() == 1);
    long[] hashes = new SplittableRandom(1).longs(100_000).toArray();
    DecisionRequest request = request(model, new Chain(hashes, 16));
    Node other = other();
    await(() -> !decideAndClose(other, request).startsWith(Fallback.REASON));
    assertThat(other.cells().explain(request).plan()).as(other.cells().explain(request).reason()).hasSize(1);

    Node guest = unconnectedNode();
    await(() -> guest.cells().models().contains(model) && !guest.cells().isHome(model));
    await(() -> !decideAndClose(guest, request(model)).startsWith(Fallback.REASON));
    assertThat(decideAndClose(guest, request))
        .startsWith(Fallback.REASON)
        .contains("100000 blocks, too many for remoting");
    assertThat(guest.cells().explain(request).reason()).contains("100000 blocks, too many for remoting");
    assertThat(decideAndClose(guest, request(model))).as("others reach the home")
        .doesNotStartWith(Fallback.REASON);
    NODES.remove(guest);
    Cluster.get(guest.system()).manager().tell(new Leave(Cluster.get(guest.system()).selfMember().address()));
    leave(guest);
  }

  /** The reason of a decision that is given back at once. */
  private static String decideAndClose(Node node, DecisionRequest request) {
    return switch (node.cells().decide(request)) {
      case Decision.Planned planned -> {
        planned.close(new Outcome.Cancelled());
        yield planned.reason();
      }
      case Decision.NoWorker none -> Fallback.REASON + " not even: " + none.detail();
    };
  }

  /** Decisions that any node has asked another for over a line. */
  private static long overLines() {
    long sum = 0;
    for (Node node : NODES) {
      for (MetricSnapshot snapshot : node.registry().scrape("kvasir_remote_decision_seconds"::equals)) {
        for (HistogramSnapshot.HistogramDataPointSnapshot point :
            ((HistogramSnapshot) snapshot).getDataPoints()) {
          sum += Objects.equals(point.getLabels().get("way"), "line") ? point.getCount() : 0;
        }
      }
    }
    return sum;
  }

  @Test
  void add_nameTaken_saysSo() {
    add("e", 4);
    assertThatThrownBy(() -> add("e", 4)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("'e'");
    assertThat(home().pods().drain("nobody")).isFalse();
    assertThat(home().pods().remove("nobody")).isFalse();
  }

  @Test
  void drain_getsNothingNew() {
    add("f", 4);
    awaitChosen(home());
    assertThat(home().pods().drain("f")).isTrue();
    await(
        () -> {
          Decision decision = home().cells().decide(request(model));
          // The word may not have reached the cell yet.
          if (decision instanceof Decision.Planned planned) {
            planned.close(new Outcome.Cancelled());
          }
          return decision instanceof Decision.NoWorker;
        });
    assertThat(inFlight()).isEqualTo(1);
  }

  @Test
  void undrain_getsRequestsAgain_unlessItsSourceWithholdsThem() {
    add("undrained", 4);
    await(() -> healthy() == 1);
    assertThat(home().pods().drain("undrained")).isTrue();
    await(() -> workers().stream().allMatch(WorkerStatus::draining));
    assertThat(other().pods().undrain("undrained")).isEqualTo(Pods.UndrainResult.DONE);
    await(() -> workers().stream().noneMatch(WorkerStatus::draining));
    assertThat(home().pods().undrain("nobody")).isEqualTo(Pods.UndrainResult.UNKNOWN);

    other().pods().declare(PodSource.FILE, List.of(new DiscoveredPod(pod(model, "withheld", 4), true)));
    await(() -> workers().size() == 2);
    assertThat(other().pods().undrain("withheld")).isEqualTo(Pods.UndrainResult.WITHHELD);
    other().pods().declare(PodSource.FILE, List.of());
  }

  /** Declared on a node where the cell is not at home: added, withheld, given back, removed. */
  @Test
  void declare_followsItsSource() {
    add("declared-1", 4);
    await(() -> healthy() == 1);
    PodSpec found = pod(model, "declared-2", 4);
    assertThat(other().pods().declare(PodSource.FILE, List.of(new DiscoveredPod(found, false)))).isEmpty();
    await(() -> healthy() == 2);
    other().pods().declare(PodSource.FILE, List.of(new DiscoveredPod(found, true)));
    await(() -> workers().stream().filter(WorkerStatus::draining).count() == 1);
    other().pods().declare(PodSource.FILE, List.of(new DiscoveredPod(found, false)));
    await(() -> workers().stream().noneMatch(WorkerStatus::draining));
    other().pods().declare(PodSource.FILE, List.of());
    await(() -> workers().size() == 1);
    assertThat(workers().getFirst().worker().id()).isEqualTo("declared-1");
  }

  @Test
  void status_fromAnyNode_saysWhoIsAtHomeWhere() {
    add("seen", 4);
    await(() -> healthy() == 1);
    Node other = other();
    await(() -> !home(home().fleet().cluster()).isEmpty()
        && home(home().fleet().cluster()).equals(home(other.fleet().cluster())));
    ClusterStatus status = other.fleet().cluster();
    assertThat(status.nodes()).extracting(ClusterStatus.NodeStatus::address).contains(home(status));
    assertThat(status.nodes()).filteredOn(ClusterStatus.NodeStatus::self).singleElement()
        .satisfies(self -> {
          assertThat(self.uptime()).isNotNull();
          assertThat(self.cutOff()).isFalse();
        });
    assertThat(status.nodes()).filteredOn(node -> !node.self())
        .allMatch(node -> node.uptime() == null && node.cutOff() == null);
    assertThat(status.nodes()).extracting(ClusterStatus.NodeStatus::state).contains("up");
    assertThat(status.workers()).anyMatch(worker -> worker.worker().id().equals("seen"));
  }

  private String home(ClusterStatus status) {
    return status.cells().stream()
        .filter(cell -> cell.name().equals(model) && cell.home() != null)
        .map(cell -> String.valueOf(cell.home()))
        .findFirst()
        .orElse("");
  }

  @Test
  void transportFailure_takesAWorkerOut_andContactBringsItBack() {
    add("g", 4);
    awaitChosen(home()).reservation().close(new Outcome.Failed(true, "connection refused"));
    await(() -> healthy() == 1);
    assertThat(awaitChosen(home()).worker().id()).isEqualTo("g");
  }

  @Test
  void wedged_getsNothingNew_untilItMoves() {
    add("j", 8);
    Decision.Chosen hung = awaitChosen(home());
    await(() -> workers().getFirst().health() == WorkerStatus.Health.WEDGED);
    assertThat(workers().getFirst().reason()).contains("nothing has come");
    assertThat(home().cells().decide(request(model)))
        .isInstanceOfSatisfying(
            Decision.NoWorker.class, none -> assertThat(none.reason()).isEqualTo(Decision.NoWorkerReason.NONE_HEALTHY));
    hung.reservation().progressed();
    await(() -> healthy() == 1);
  }

  @Test
  void wedged_asAnotherNodeSeesIt_movesThere() {
    add("k", 8);
    awaitChosen(home()).reservation().close(new Outcome.Cancelled());
    Node other = other();
    await(() -> other.cells().models().contains(model));
    Decision.Chosen hung = awaitChosen(other);
    await(() -> workers().getFirst().health() == WorkerStatus.Health.WEDGED);
    await(
        () -> {
          hung.reservation().progressed();
          return healthy() == 1;
        });
  }

  @Test
  void eventStreamLost_isOutUntilTheProbeAnswers() {
    add("l", 8);
    home().pods().add(pod(model, FlakyStream.NAME, 8, List.of(new EventFeed.Zmq("tcp://h:1", null, "", false))));
    await(() -> healthy() == 2);
    CompletableFuture<Boolean> probe = new CompletableFuture<>();
    PROBES.put(FlakyStream.NAME + ".test", probe);
    FlakyStream.BREAK.complete(new KvBatch(-1, 1, 0, List.of(new KvEvent.Disconnected())));
    await(() -> healthy() == 1);
    assertThat(awaitChosen(home()).worker().id()).isEqualTo("l");
    probe.complete(true);
    await(() -> healthy() == 2);
  }

  @Test
  void eventStreamLost_ofTheOnlyOne_takesNobodyOut() {
    home().pods().add(pod(model, LonelyStream.NAME, 8, List.of(new EventFeed.Zmq("tcp://h:1", null, "", false))));
    await(() -> healthy() == 1);
    AtomicInteger asked = LonelyStream.ASKED;
    int before = asked.get();
    LonelyStream.BREAK.complete(new KvBatch(-1, 1, 0, List.of(new KvEvent.Disconnected())));
    await(() -> asked.get() > before);
    assertThat(home().cells().decide(request(model))).isInstanceOf(Decision.Planned.class);
  }

  /** Probes that are answered otherwise than with success at once, by host. */
  private static final Map<String, CompletableFuture<Boolean>> PROBES = new ConcurrentHashMap<>();

  private static CompletableFuture<Boolean> probe(URI pod) {
    if (pod.getHost().startsWith(LonelyStream.NAME)) {
      LonelyStream.ASKED.incrementAndGet();
    }
    if (pod.getHost().equals(SilentHome.NAME + ".test")) {
      return SilentHome.probe();
    }
    return PROBES.getOrDefault(pod.getHost(), CompletableFuture.completedFuture(true));
  }

  private static final class FlakyStream {
    static final String NAME = "flaky";
    static final CompletableFuture<KvBatch> BREAK = new CompletableFuture<>();
  }

  private static final class LonelyStream {
    static final String NAME = "lonely";
    static final CompletableFuture<KvBatch> BREAK = new CompletableFuture<>();
    static final AtomicInteger ASKED = new AtomicInteger();
  }

  private static Source<KvBatch, NotUsed> stream(String pod) {
    return switch (pod) {
      case RestartingEngine.NAME -> RestartingEngine.open();
      case FailingStream.NAME -> FailingStream.open();
      case HoldingEngine.NAME -> HoldingEngine.open();
      case GoneEngine.NAME -> GoneEngine.open();
      case FlakyStream.NAME -> connected(FlakyStream.BREAK);
      case LonelyStream.NAME -> connected(LonelyStream.BREAK);
      default -> Source.never();
    };
  }

  private static Source<KvBatch, NotUsed> connected(CompletableFuture<KvBatch> next) {
    return Source.single(new KvBatch(-1, 1, 0, List.<KvEvent>of(new KvEvent.Connected())))
        .concat(Source.completionStage(next))
        .concat(Source.never());
  }

  @Test
  void decide_onTheOtherNode_isBookedAtTheHome() {
    add("h", 4);
    awaitChosen(home()).reservation().close(new Outcome.Cancelled());
    Node other = other();
    await(() -> other.cells().models().contains(model));

    Decision.Planned planned = (Decision.Planned) other.cells().decide(request(model));
    Decision.Planned here = (Decision.Planned) home().cells().decide(request(model));
    here.close(new Outcome.Cancelled());
    Decision.Chosen chosen = planned.last();
    assertThat(chosen.worker().id()).isEqualTo("h");
    assertThat(chosen.worker().kvTransfer()).isEqualTo(TRANSFER);
    assertThat(chosen.step()).as("as decided at home").isEqualTo(here.last().step());
    assertThat(planned.reason()).isEqualTo(here.reason());
    assertThat(planned.workflow()).isEqualTo(here.workflow());
    chosen.reservation().prefillLocally();
    assertThat(inFlight()).isEqualTo(1);
    assertThat(other.fleet().workers()).as("asked over the cluster").anyMatch(worker -> worker.load().inFlight() == 1);
    chosen.reservation().firstToken();
    await(() -> pending() == 0);
    chosen.reservation().close(new Outcome.Completed(100, 0, 5, 1000));
    await(() -> inFlight() == 0);
  }

  /** More chains than one message has room for. */
  @Test
  void heldPrefixes_fromAnyNode_areThoseOfTheIndex() {
    add(HoldingEngine.NAME, 4);
    add("empty", 4);
    await(() -> healthy() == 2);
    await(() -> workers().stream().anyMatch(worker -> worker.index().blocks() == HoldingEngine.HELD.length()));
    SplittableRandom random = new SplittableRandom(1);
    List<Chain> chains = new ArrayList<>();
    chains.add(HoldingEngine.HELD);
    for (int i = 0; i < 40; i++) {
      chains.add(new Chain(random.longs(256).toArray(), 16));
    }
    chains.add(new Chain(Arrays.copyOf(HoldingEngine.HELD.hashes(), 4), 16));
    Node other = other();
    await(() -> other.cells().models().contains(model));

    for (Node node : List.of(home(), other)) {
      HeldPrefixes held = node.fleet().heldPrefixes(model, chains);
      assertThat(held.missingCells()).isEmpty();
      assertThat(held.depths()).hasSameSizeAs(chains);
      assertThat(held.depths().getFirst()).containsExactly(HoldingEngine.HELD.length());
      assertThat(held.depths().getLast()).containsExactly(4);
      assertThat(held.depths().subList(1, 41)).allMatch(List::isEmpty);
      assertThat(held.holders(0, HoldingEngine.HELD.length())).isEqualTo(1);
      assertThat(held.holders(0, HoldingEngine.HELD.length() + 1)).isZero();
    }
    assertThat(home().fleet().heldPrefixes("nobody's", chains).depths()).allMatch(List::isEmpty);
  }

  /** An engine that tells of its cache, and then of nothing more. */
  private static final class HoldingEngine {
    static final String NAME = "holding";
    static final Chain HELD = RestartingEngine.BEFORE;

    static Source<KvBatch, NotUsed> open() {
      return RestartingEngine.stored(RestartingEngine.tokens(7, 10)).concat(Source.never());
    }
  }

  /** Only what administration asks for waits for a home; what a request needs is in each node's memory. */
  @Test
  void workers_whileTheHomeDoesNotAnswer_areKnown() {
    add(SilentHome.NAME, 4);
    awaitChosen(home()).reservation().close(new Outcome.Cancelled());
    Node other = other();
    await(() ->
        other.cells().workers(model).stream().anyMatch(worker -> worker.health() == WorkerStatus.Health.HEALTHY));
    try {
      SilentHome.SILENT.set(true);
      SilentHome.PROBED.join();
      assertThat(other.fleet().workers()).as("asked of the home")
          .noneMatch(worker -> worker.worker().id().equals(SilentHome.NAME));
      assertThat(other.fleet().heldPrefixes(model, List.of(RestartingEngine.BEFORE)).missingCells())
          .containsExactly(model);
      assertThat(other.cells().workers()).as("known")
          .anyMatch(worker -> worker.id().equals(SilentHome.NAME) && worker.health() == WorkerStatus.Health.HEALTHY);
      assertThat(other.cells().workers(model)).extracting(WorkerSummary::id).containsExactly(SilentHome.NAME);
      assertThat(other.cells().workerIds()).contains(SilentHome.NAME);
      assertThat(other.cells().models()).contains(model);
    } finally {
      SilentHome.ANSWER.complete(true);
    }
  }

  /** The pod whose probe keeps its home, which starts it, from answering anything. */
  private static final class SilentHome {
    static final String NAME = "silent";
    static final AtomicBoolean SILENT = new AtomicBoolean();
    static final CompletableFuture<Boolean> PROBED = new CompletableFuture<>();
    static final CompletableFuture<Boolean> ANSWER = new CompletableFuture<>();

    static CompletableFuture<Boolean> probe() {
      if (SILENT.get()) {
        PROBED.complete(true);
        ANSWER.join();
      }
      return CompletableFuture.completedFuture(true);
    }
  }

  @Test
  void explain_onTheOtherNode_tellsWhatTheHomeSees() {
    add("told", 4);
    awaitChosen(home()).reservation().close(new Outcome.Cancelled());
    Node other = other();
    await(() -> other.cells().models().contains(model));

    DecisionRecord there = other.cells().explain(request(model));
    DecisionRecord here = home().cells().explain(request(model));

    assertThat(there.refused()).isNull();
    assertThat(DecisionJson.of(there).put("time", "")).isEqualTo(DecisionJson.of(here).put("time", ""));
    assertThat(there.plan()).singleElement().extracting(DecisionRecord.StepRecord::worker).isEqualTo("told");
    assertThat(there.passes().getFirst().candidates()).singleElement().satisfies(candidate -> {
      assertThat(candidate.scores()).isNotEmpty();
      assertThat(candidate.facts().maxInFlight()).isEqualTo(4);
    });
    assertThat(inFlight()).isZero();
    assertThat(other.cells().explain(request("nobody's")).refused()).isEqualTo("unknown_model");
  }

  @Test
  void askingNodeLost_itsReservationsAreReleased() {
    add("i", 4);
    awaitChosen(home()).reservation().close(new Outcome.Cancelled());
    Node guest = node();
    await(() -> guest.cells().models().contains(model) && !guest.cells().isHome(model));
    awaitChosen(guest);
    awaitChosen(guest);
    assertThat(inFlight()).isEqualTo(2);

    NODES.remove(guest);
    Cluster.get(guest.system()).manager().tell(new Leave(Cluster.get(guest.system()).selfMember().address()));
    await(() -> inFlight() == 0);
    leave(guest);
  }

  private static void leave(Node guest) {
    NODES.remove(guest);
    guest.system().terminate();
    guest.system().getWhenTerminated().toCompletableFuture().join();
  }

  /** Nodes are restarted one by one while a pod is on its way out. */
  @Test
  void nodeThatStarts_doesNotUndoTheDrainOfAPodItIsConfiguredWith() {
    add("n", 4);
    await(() -> healthy() == 1);
    assertThat(home().pods().drain("n")).isTrue();
    await(() -> workers().stream().anyMatch(WorkerStatus::draining));
    Node guest = node(Set.of(pod(model, "n", 4), pod(model, "o", 4)));
    await(() -> workers().size() == 2);
    assertThat(workers()).filteredOn(worker -> worker.worker().id().equals("n")).allMatch(WorkerStatus::draining);
    leave(guest);
  }

  /** Answers contradict what the index says: it is dropped, and what the engine tells then is right. */
  @Test
  void index_thatAnswersContradict_isReadAnew() {
    RestartingEngine.BEGUN_ANEW.set(false);
    Chain held = RestartingEngine.BEFORE;
    add(RestartingEngine.NAME, 100);
    awaitChosen(home()).reservation().close(new Outcome.Cancelled());
    await(() -> workers().getFirst().index().blocks() == held.length());
    RestartingEngine.BEGUN_ANEW.set(true);
    for (int i = 0; i < 8; i++) {
      Decision.Chosen chosen = ((Decision.Planned) home().cells().decide(request(model, held))).last();
      assertThat(chosen.cached().confirmed()).isEqualTo(held.length() * 16);
      chosen.reservation().close(new Outcome.Completed(1000, 0, 5, 1000));
    }
    await(() -> workers().getFirst().index().resyncs() == 1);
    await(() -> workers().getFirst().index().blocks() == RestartingEngine.AFTER.length());
    assertThat(((Decision.Planned) home().cells().decide(request(model, held))).last().cached().confirmed()).isZero();
    Decision.Chosen now = ((Decision.Planned) home().cells().decide(request(model, RestartingEngine.AFTER))).last();
    assertThat(now.cached().confirmed()).isEqualTo(RestartingEngine.AFTER.length() * 16);
    assertThat(workers().getFirst().index().trust()).isEqualTo(1);
    assertThat(workers().getFirst().index().suspect()).isFalse();
  }

  /** A stream into which engines dial notices no death of one: nothing of the dead process is promised. */
  @Test
  void index_ofAProcessThatIsGone_isForgotten() {
    home().pods().add(pod(model, GoneEngine.NAME, 100, List.of(new EventFeed.Zmq("tcp://*:1", null, "gone", true))));
    await(() -> healthy() == 1);
    await(() -> workers().getFirst().index().blocks() == RestartingEngine.BEFORE.length());
    Decision.Chosen chosen = ((Decision.Planned) home().cells().decide(request(model, RestartingEngine.BEFORE))).last();
    assertThat(chosen.cached().confirmed()).isPositive();
    PROBES.put(
        GoneEngine.NAME + ".test",
        CompletableFuture.failedFuture(new CompletionException("refused", new ConnectException("refused"))));
    chosen.reservation().close(new Outcome.Failed(true, "refused"));
    await(() -> workers().getFirst().index().blocks() == 0);

    PROBES.remove(GoneEngine.NAME + ".test");
    await(() -> healthy() == 1);
    Decision.Chosen next = ((Decision.Planned) home().cells().decide(request(model, RestartingEngine.BEFORE))).last();
    assertThat(next.cached().predicted()).isZero();
    assertThat(next.cached().confirmed()).isZero();
    assertThat(workers().getFirst().index().resyncs()).as("its answers said nothing").isZero();
  }

  /** An engine whose stream tells of its cache whenever it is opened, as a broker does, also after it has gone. */
  private static final class GoneEngine {
    static final String NAME = "gone";

    static Source<KvBatch, NotUsed> open() {
      return RestartingEngine.stored(RestartingEngine.tokens(7, 10)).concat(Source.never());
    }
  }

  /** An engine that begins anew unnoticed: its stream tells of one cache, and when it is read again of another. */
  private static final class RestartingEngine {
    static final String NAME = "two-lives";
    static final Chain BEFORE = new Chain(chain(tokens(7, 10)), 16);
    static final Chain AFTER = new Chain(chain(tokens(1_000_000, 4)), 16);
    static final AtomicBoolean BEGUN_ANEW = new AtomicBoolean();

    static Source<KvBatch, NotUsed> open() {
      return stored(BEGUN_ANEW.get() ? tokens(1_000_000, 4) : tokens(7, 10)).concat(Source.never());
    }

    static Source<KvBatch, NotUsed> stored(int[] tokens) {
      long[] hashes = chain(tokens);
      KvEvent stored =
          new KvEvent.Stored(
              true, 0, hashes, tokens, 16, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED, KvEvent.Spec.UNSPECIFIED,
              List.of());
      return Source.single(new KvBatch(0, 1, 0, List.of(stored)));
    }

    private static int[] tokens(int first, int blocks) {
      return IntStream.range(first, first + blocks * 16).toArray();
    }

    private static long[] chain(int[] tokens) {
      long[] hashes = new long[tokens.length / 16];
      BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, tokens.length, 16, hashes, 0);
      return hashes;
    }
  }

  /** Until it can be read again the index may be wrong, and is known to be. */
  @Test
  void stream_thatFails_isOpenedAgain() {
    add(FailingStream.NAME, 100);
    await(() -> healthy() == 1 && workers().getFirst().index().blocks() == FailingStream.BLOCKS);
    FailingStream.BREAK.completeExceptionally(new IllegalStateException("as the test has it"));
    await(() -> workers().getFirst().index().suspect() && FailingStream.REFUSED.get() > 0);
    FailingStream.REFUSING.set(false);
    await(() -> workers().getFirst().index().blocks() == 2 * FailingStream.BLOCKS);
    assertThat(workers().getFirst().index().suspect()).isFalse();
  }

  /** A stream that breaks, cannot be opened for a while, and then tells of more. */
  private static final class FailingStream {
    static final String NAME = "failing";
    static final int BLOCKS = 5;
    static final CompletableFuture<KvBatch> BREAK = new CompletableFuture<>();
    static final AtomicBoolean REFUSING = new AtomicBoolean(true);
    static final AtomicInteger REFUSED = new AtomicInteger();
    private static final AtomicInteger OPENED = new AtomicInteger();

    static Source<KvBatch, NotUsed> open() {
      if (OPENED.get() == 0) {
        OPENED.incrementAndGet();
        return RestartingEngine.stored(RestartingEngine.tokens(7, BLOCKS)).concat(Source.completionStage(BREAK));
      }
      if (REFUSING.get()) {
        REFUSED.incrementAndGet();
        throw new IllegalStateException("no socket, as the test has it");
      }
      return RestartingEngine.stored(RestartingEngine.tokens(7, 2 * BLOCKS)).concat(Source.never());
    }
  }

  private static Node node() {
    return node(Set.of());
  }

  /** A node whose connections to others are closed, as behind a firewall. */
  private static Node unconnectedNode() {
    PeerConnections closed = TestSettings.lines();
    closed.close();
    return node(Set.of(), closed);
  }

  private static Node node(Set<PodSpec> pods) {
    return node(pods, TestSettings.lines());
  }

  private static Node node(Set<PodSpec> pods, PeerConnections lines) {
    ActorSystem<Void> system = TestMembers.start(NODES.isEmpty() ? null : NODES.getFirst().system());
    PrometheusRegistry registry = new PrometheusRegistry();
    Metrics metrics = new Metrics(registry);
    Node node =
        new Node(
            system,
            CellsWiring.start(
                system,
                TestSettings.CELL,
                PartitionPolicy.SERVE,
                pods,
                TestProfiles.builtIn("least-loaded", metrics),
                (worker, pod) -> stream(pod.name()),
                ClusterCellsTest::probe,
                RetentionRelease.NONE,
                metrics,
                lines,
                DecisionLog.off(metrics),
                NanoClock.SYSTEM),
            registry);
    NODES.add(node);
    return node;
  }

  /** The node where this test's cell is at home, once it is; the first node before that. */
  private Node home() {
    return NODES.stream().filter(node -> node.cells().isHome(model)).findAny().orElse(NODES.get(0));
  }

  private Node other() {
    return NODES.stream().filter(node -> !node.cells().isHome(model)).findAny().orElseThrow();
  }

  private void add(String name, int maxInFlight) {
    home().pods().add(pod(model, name, maxInFlight));
    await(() -> NODES.stream().anyMatch(node -> node.cells().isHome(model)));
  }

  private static final List<EventFeed> FEEDS =
      List.of(
          new EventFeed.Zmq("tcp://h:1", null, "", false),
          new EventFeed.Push("key"),
          new EventFeed.Nats("nats://h:1", "", "s", Duration.ofHours(1), null),
          new EventFeed.Redis(URI.create("redis://h"), "s"),
          new EventFeed.TensorRt(null, Duration.ofMillis(50)),
          new EventFeed.Grpc("h:1", true));

  private static final KvTransfer TRANSFER =
      new KvTransfer(KvTransfer.Dialect.SGLANG, "east", "h", 8998, "", 2, 1, new KvTransfer.TransferCost(3, 0.5));

  private static PodSpec pod(String model, String name, int maxInFlight) {
    return pod(model, name, maxInFlight, FEEDS);
  }

  private static PodSpec pod(String model, String name, int maxInFlight, List<EventFeed> feeds) {
    return TestPods.pod(name).models(model).maxInFlight(maxInFlight).events(feeds).kvTransfer(TRANSFER).build();
  }

  private static DecisionRequest request(String model) {
    return request(model, Chain.EMPTY);
  }

  private static DecisionRequest request(String model, Chain chain) {
    int tokens = Math.max(100, chain.length() * 17);
    return new DecisionRequest(
        "r", model, null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain, tokens),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
  }

  private Decision.Chosen awaitChosen(Node node) {
    return awaitChosen(node, request(model));
  }

  /** What the home decided: asked again where it does not answer in time, as on a busy machine. */
  private static Decision.Chosen awaitChosen(Node node, DecisionRequest request) {
    CompletableFuture<Decision.Chosen> chosen = new CompletableFuture<>();
    await(
        () -> {
          if (node.cells().decide(request) instanceof Decision.Planned found) {
            if (found.reason().startsWith(Fallback.REASON)) {
              found.close(new Outcome.Cancelled());
            } else {
              chosen.complete(found.last());
            }
          }
          return chosen.isDone();
        });
    return chosen.join();
  }

  private List<WorkerStatus> workers() {
    return home().fleet().workers().stream().filter(worker -> worker.cell().equals(model)).toList();
  }

  private int inFlight() {
    return workers().stream().mapToInt(worker -> worker.load().inFlight()).sum();
  }

  private long pending() {
    return workers().stream().mapToLong(worker -> worker.load().pendingTokens()).sum();
  }

  private long healthy() {
    return workers().stream().filter(worker -> worker.health() == WorkerStatus.Health.HEALTHY).count();
  }

  private static void await(Await.Condition condition) {
    Await.within(PATIENCE, condition);
  }
}
