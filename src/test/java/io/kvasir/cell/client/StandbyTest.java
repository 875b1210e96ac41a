package io.kvasir.cell.client;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.TestMembers;
import io.kvasir.cell.CellMove;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.EventSources;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.events.StreamPosition;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Cells with copies on other nodes, each node an actor system of its own, over real remoting. */
final class StandbyTest {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final int BLOCK = 16;
  private static final int BLOCKS = 200;

  /** Patient, so that a machine that is slow makes no decision a fallback. */
  private static final CellSettings SETTINGS =
      new CellSettings(
          new CellSettings.IndexSettings(64, 256, 1 << 26),
          new CellSettings.RemoteSettings(
              Duration.ofSeconds(10), TestSettings.CELL.remote().reservationLease(), 1, PATIENCE),
          TestSettings.CELL.health(),
          TestSettings.CELL.prediction(),
          TestSettings.CELL.accuracy());

  private final Map<String, Engine> engines = new ConcurrentHashMap<>();
  private final List<Node> nodes = new ArrayList<>();

  /** Nanoseconds that the nodes' clock is ahead of the machine's. */
  private final AtomicLong ahead = new AtomicLong();

  private record Node(ActorSystem<Void> system, NodeCells clients) implements TestNode {}

  /** An engine that remembers all it has told. */
  private static final class Engine {
    static final int IN_WINDOW = BLOCKS - 2;

    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicInteger resumed = new AtomicInteger();
    private final List<KvBatch> log = new ArrayList<>();
    private final Chain chain;

    Engine(int number) {
      int[] tokens = IntStream.range(0, BLOCKS * BLOCK).map(i -> number * 100_000 + i).toArray();
      long[] keys = IntStream.range(0, BLOCKS).mapToLong(i -> number * 1_000L + i + 1).toArray();
      long[] hashes = new long[BLOCKS];
      BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, tokens.length, BLOCK, hashes, 0);
      chain = new Chain(hashes, BLOCK);
      log.add(
          new KvBatch(
              0, 1, KvBatch.UNKNOWN_RANK,
              List.of(
                  new Stored(
                      true, 0, keys, tokens, BLOCK, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED, Spec.UNSPECIFIED,
                      List.of()))));
    }

    /** Keeps the last blocks of the prompt but two in a second group. */
    void withWindow() {
      long[] keys = ((Stored) log.getFirst().events().getFirst()).keys();
      log.add(
          new KvBatch(
              1, 1, KvBatch.UNKNOWN_RANK,
              List.of(
                  new Stored(
                      true, 0, Arrays.copyOfRange(keys, IN_WINDOW - 4, IN_WINDOW), new int[IN_WINDOW * BLOCK], BLOCK,
                      Tier.DEVICE, null, null, 1, new Spec(Spec.Kind.SLIDING_WINDOW, 3 * BLOCK), List.of()))));
    }

    Source<KvBatch, NotUsed> open() {
      opened.incrementAndGet();
      return Source.from(log).concat(Source.maybe());
    }

    Source<KvBatch, NotUsed> resume(StreamPosition last) {
      assertThat(last).isEqualTo(new StreamPosition(log.getLast().sequence(), 1));
      resumed.incrementAndGet();
      return Source.<KvBatch>maybe().mapMaterializedValue(_ -> NotUsed.getInstance());
    }
  }

  private final class Engines implements EventSources {
    @Override
    public Source<KvBatch, NotUsed> open(Worker worker, PodSpec pod) {
      return Objects.requireNonNull(engines.get(pod.name())).open();
    }

    @Override
    public Source<KvBatch, NotUsed> resume(Worker worker, PodSpec pod, StreamPosition last) {
      return Objects.requireNonNull(engines.get(pod.name())).resume(last);
    }
  }

  @AfterEach
  void stop() {
    TestMembers.stop(nodes.stream().map(Node::system).toList());
  }

  @Test
  void homeThatDies_copyTakesOver_withAllItKnew() {
    start(3);
    add("m");
    awaitWarm("m");
    Node home = home("m");
    Node other = other(home);

    nodes.remove(home);
    home.system().terminate();

    Decision.Planned first = awaitDecision(other, "m");
    assertThat(first.last().depth()).isEqualTo(BLOCKS);
    await(() -> engine("m").resumed.get() == 1);
    assertThat(engine("m").opened).hasValue(1);
    awaitWarm("m"); // on the node that is left
    awaitMove(other, "m", CellMove.Reason.HOME_LOST);
  }

  /** What its other groups hold is copied, too: without it more would be promised than the engine finds. */
  @Test
  void homeThatDies_ofAHybridModel_copyTakesOver_withItsGroups() {
    Node home = homeOfHybrid();
    Node other = other(home);

    nodes.remove(home);
    home.system().terminate();

    assertGoesOnWithGroups(other);
  }

  @Test
  void nodeThatLeaves_ofAHybridModel_handsItsGroupsOver() {
    Node home = homeOfHybrid();
    Node other = other(home);

    nodes.remove(home);
    CoordinatedShutdown.get(home.system()).runAll(CoordinatedShutdown.jvmExitReason()).toCompletableFuture().join();
    await(() -> nodes.stream().anyMatch(node -> node.cells().isHome("m")));

    assertGoesOnWithGroups(other);
  }

  /** The home of a hybrid model's cell, which has a warm copy elsewhere. */
  private Node homeOfHybrid() {
    start(3);
    Engine hybrid = new Engine(1);
    hybrid.withWindow();
    add("m", hybrid, Engine.IN_WINDOW);
    awaitWarm("m");
    return home("m");
  }

  private void assertGoesOnWithGroups(Node asked) {
    assertThat(closed(awaitDecision(asked, "m"))).isEqualTo(Engine.IN_WINDOW);
    await(() -> engine("m").resumed.get() == 1);
    assertThat(engine("m").opened).hasValue(1);
  }

  /** Also while no home answers. */
  @Test
  void homeThatDies_sessionsStayWithTheirWorkers() {
    start(3);
    add("m");
    for (String pod : List.of("second", "third")) {
      engines.put(pod, new Engine(engines.size() + 1));
      nodes.getFirst().pods().add(
          TestPods.pod(pod).models("m").blockSize(BLOCK).maxInFlight(64).events(List.of(new EventFeed.Push("")))
              .build());
    }
    nodes.forEach(node -> await(() -> node.cells().workers("m").size() == 3));
    Node home = home("m");
    await(() -> home.fleet().workers().stream()
        .filter(worker -> worker.health() == WorkerStatus.Health.HEALTHY).count() == 3);
    Map<String, String> workers = new LinkedHashMap<>();
    // All at once, so that each costs least where the fewest are.
    List<Decision.Planned> open = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      Decision.Planned planned = (Decision.Planned) home.cells().decide(ofSession("s" + i));
      open.add(planned);
      workers.put("s" + i, planned.last().worker().id());
    }
    assertThat(workers.values().stream().distinct()).hasSize(3);
    open.forEach(planned -> planned.close(new Outcome.Cancelled()));
    for (Node node : nodes) {
      workers.forEach((session, worker) -> assertThat(worker(node, session)).isEqualTo(worker));
    }

    nodes.remove(home);
    home.system().terminate();

    for (Node node : nodes) {
      workers.forEach((session, worker) -> assertThat(worker(node, session)).isEqualTo(worker));
    }
    for (Node node : nodes) {
      closed(awaitDecision(node, "m"));
      workers.forEach((session, worker) -> assertThat(worker(node, session)).isEqualTo(worker));
    }
  }

  private static String worker(Node node, String session) {
    Decision.Planned planned = (Decision.Planned) node.cells().decide(ofSession(session));
    planned.close(new Outcome.Cancelled());
    return planned.last().worker().id();
  }

  private static DecisionRequest ofSession(String session) {
    PreparedSlots prepared =
        PreparedSlots.EMPTY.with(Slots.SESSION_KEY, session).with(Slots.SESSION_WORKERS, "");
    return new DecisionRequest(
        "r", "m", "sticky-sessions", RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(Chain.EMPTY, 5_000),
        prepared, true, DecisionRequest.Constraints.NONE);
  }

  @Test
  void nodeThatLeaves_handsItsCellsOver_andNobodyFallsBack() {
    start(3);
    add("m");
    awaitWarm("m");
    Node home = home("m");
    Node other = other(home);
    // Before its home has reached the worker, there is nobody to decide for.
    closed(awaitDecision(other, "m"));
    AtomicBoolean done = new AtomicBoolean();
    ConcurrentLinkedQueue<String> bad = new ConcurrentLinkedQueue<>();
    Thread asks = Thread.ofVirtual().start(() -> {
      while (!done.get()) {
        if (!(other.cells().decide(request("m")) instanceof Decision.Planned planned)) {
          bad.add("nobody");
          continue;
        }
        if (planned.reason().startsWith(Fallback.REASON) || planned.last().depth() != BLOCKS) {
          bad.add(planned.reason() + " depth " + planned.last().depth());
        }
        planned.close(new Outcome.Cancelled());
        LockSupport.parkNanos(1_000_000);
      }
    });

    nodes.remove(home);
    CoordinatedShutdown.get(home.system()).runAll(CoordinatedShutdown.jvmExitReason()).toCompletableFuture().join();
    await(() -> nodes.stream().anyMatch(node -> node.cells().isHome("m")));
    done.set(true);
    join(asks);

    assertThat(bad).isEmpty();
    assertThat(engine("m").opened).hasValue(1);
    awaitMove(other, "m", CellMove.Reason.HOME_LEFT);
  }

  /** The cells that a new node gets are copied there first; what their former homes have in flight moves with them. */
  @Test
  void nodeThatJoins_getsWarmCells_andTheirLoad() {
    start(1);
    List<String> models = List.of("a", "b", "c", "d");
    models.forEach(this::add);
    Node first = nodes.getFirst();
    List<Decision.Planned> open = models.stream().map(model -> awaitDecision(first, model)).toList();

    Node joined = node();
    await(() -> models.stream().anyMatch(model -> joined.cells().isHome(model)));

    for (int i = 0; i < models.size(); i++) {
      String model = models.get(i);
      if (joined.cells().isHome(model)) {
        Decision.Planned next = awaitDecision(first, model);
        assertThat(next.reason()).doesNotStartWith(Fallback.REASON);
        assertThat(next.last().depth()).isEqualTo(BLOCKS);
        await(() -> inFlight(joined, model) == 2);
        next.close(new Outcome.Cancelled());
        open.get(i).close(new Outcome.Cancelled());
        await(() -> inFlight(joined, model) == 0);
        assertThat(engine(model).opened).hasValue(1);
        awaitMove(first, model, CellMove.Reason.BALANCE);
      }
    }
  }

  /** Of a model that is not served any more nothing stays; when it comes back, its cell begins anew. */
  @Test
  void cellWithoutPods_endsEverywhere_andBeginsAnewWithThem() {
    start(2);
    add("stays");
    add("m");
    awaitWarm("m");

    assertThat(nodes.getFirst().pods().remove("m-pod")).isTrue();
    await(() -> {
      ahead.addAndGet(Duration.ofSeconds(30).toNanos());
      return nodes.stream().noneMatch(node -> node.cells().isHome("m") || node.cells().nodesOf("m") != null);
    });
    assertThat(nodes).anyMatch(node -> node.cells().isHome("stays"));

    add("m");
    for (Node node : nodes) {
      assertThat(closed(awaitDecision(node, "m"))).isEqualTo(BLOCKS);
    }
    assertThat(engine("m").opened).hasValue(1);
    assertThat(engine("m").resumed).hasValue(0);
    awaitWarm("m");
  }

  /** Waits until a node knows of the one move of a cell. */
  private static void awaitMove(Node node, String cell, CellMove.Reason reason) {
    await(() -> node.fleet().moves().stream().anyMatch(move -> move.cell().equals(cell) && move.reason() == reason));
    assertThat(node.fleet().moves().stream().filter(move -> move.cell().equals(cell)))
        .singleElement()
        .satisfies(move -> assertThat(move.from()).isNotEqualTo(move.to()).startsWith("127.0.0.1:"));
  }

  private static int inFlight(Node node, String cell) {
    return node.fleet().workers().stream()
        .filter(worker -> worker.cell().equals(cell))
        .mapToInt(worker -> worker.load().inFlight())
        .sum();
  }

  private void start(int count) {
    for (int i = 0; i < count; i++) {
      node();
    }
    for (Node node : nodes) {
      await(() -> Cluster.get(node.system()).state().members().size() == count);
    }
  }

  private Node node() {
    ActorSystem<Void> system =
        TestMembers.start(
            nodes.isEmpty() ? null : nodes.getFirst().system(),
            """
            pekko.cluster.jmx.multi-mbeans-in-same-jvm = on
            pekko.cluster.sharding.rebalance-interval = 1 s
            # Terminated is killed here.
            pekko.coordinated-shutdown.run-by-actor-system-terminate = off
            pekko.coordinated-shutdown.terminate-actor-system = off
            """);
    Metrics metrics = new Metrics(new PrometheusRegistry());
    Node node =
        new Node(
            system,
            CellsWiring.start(
                system,
                SETTINGS,
                PartitionPolicy.SERVE,
                new LinkedHashSet<>(),
                TestProfiles.builtIn("prefix-aware", metrics),
                new Engines(),
                pod -> CompletableFuture.completedFuture(true),
                RetentionRelease.NONE,
                metrics,
                TestSettings.lines(),
                DecisionLog.off(metrics),
                () -> System.nanoTime() + ahead.get()));
    nodes.add(node);
    return node;
  }

  private void add(String model) {
    add(model, new Engine(engines.size() + 1), BLOCKS);
  }

  /** Adds a model with an engine, and waits until as many blocks of its prompt are found there. */
  private void add(String model, Engine engine, int depth) {
    String pod = model + "-pod";
    engines.put(pod, engine);
    nodes.getFirst().pods().add(
        TestPods.pod(pod)
            .models(model)
            .blockSize(BLOCK)
            .maxInFlight(64)
            .events(List.of(new EventFeed.Push("")))
            .build());
    await(() -> nodes.stream().anyMatch(node -> node.cells().isHome(model)));
    Node home = home(model);
    await(() -> closed(awaitDecision(home, model)) == depth);
  }

  private static int closed(Decision.Planned planned) {
    planned.close(new Outcome.Cancelled());
    return planned.last().depth();
  }

  private Engine engine(String model) {
    return Objects.requireNonNull(engines.get(model + "-pod"));
  }

  private Node other(Node than) {
    return nodes.stream().filter(node -> !node.equals(than)).findFirst().orElseThrow();
  }

  private Node home(String model) {
    return nodes.stream().filter(node -> node.cells().isHome(model)).findFirst().orElseThrow();
  }

  /** Until there is a copy that could take over, and every node knows. */
  private void awaitWarm(String cell) {
    await(
        () ->
            nodes.stream().allMatch(node -> {
              CellNodes known = node.cells().nodesOf(cell);
              return known != null && !known.warm().isEmpty();
            }));
    // A description that a home makes too late is told without it.
    await(
        () ->
            nodes.getFirst().fleet().cluster().cells().stream()
                .filter(each -> each.name().equals(cell))
                .mapToInt(each -> each.standbys().size())
                .sum() == 1);
  }

  /** The first decision that a home made. */
  private Decision.Planned awaitDecision(Node node, String model) {
    CompletableFuture<Decision.Planned> made = new CompletableFuture<>();
    await(() -> {
      if (node.cells().decide(request(model)) instanceof Decision.Planned planned) {
        if (!planned.reason().startsWith(Fallback.REASON)) {
          return made.complete(planned);
        }
        planned.close(new Outcome.Cancelled());
      }
      return false;
    });
    return made.join();
  }

  private DecisionRequest request(String model) {
    Chain chain = engine(model).chain;
    return new DecisionRequest(
        "r", model, null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(chain, BLOCKS * BLOCK),
        PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
  }

  private static void join(Thread thread) {
    try {
      assertThat(thread.join(PATIENCE)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
