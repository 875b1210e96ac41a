package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.Await;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.events.EventFeed;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.events.KvEvent;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.pekko.NotUsed;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.apache.pekko.stream.BoundedSourceQueue;
import org.apache.pekko.stream.QueueOfferResult;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A cell that gets more workers than its index has slots, while requests and events go on. */
@Tag("lock-free")
final class IndexResizeTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final String MODEL = "m";
  private static final int BLOCK = 16;

  /** Blocks each worker never gives up: a decision on them must find it, whenever. */
  private static final int KEPT = 40;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Map<String, Engine> engines = new ConcurrentHashMap<>();
  private final AtomicInteger numbers = new AtomicInteger();
  private final AtomicBoolean done = new AtomicBoolean();
  private final AtomicLong decisions = new AtomicLong();
  private final ActorSystem<Void> system = system();
  private final NodeCells node = node();

  /** One worker's engine: a chain of its own that grows and shrinks at its end. */
  private static final class Engine {
    private final BoundedSourceQueue<KvBatch> stream;
    private final int[] tokens;
    private final Chain kept;
    private final long firstKey;
    private int depth;
    private long sequence;

    Engine(int number, BoundedSourceQueue<KvBatch> stream) {
      this.stream = stream;
      this.tokens = IntStream.range(0, 4096).map(i -> number * 10_000 + i).toArray();
      this.firstKey = number * 1_000_000L + 1;
      long[] hashes = new long[KEPT];
      BlockHash.in(null, null).chain(BlockHash.NONE, tokens, 0, KEPT * BLOCK, BLOCK, hashes, 0);
      this.kept = new Chain(hashes, BLOCK);
    }

    synchronized void store(int blocks) {
      int from = depth;
      depth = Math.min(tokens.length / BLOCK, depth + blocks);
      int[] these = IntStream.range(from * BLOCK, depth * BLOCK).map(i -> tokens[i]).toArray();
      send(
          new Stored(
              from == 0, from == 0 ? 0 : firstKey + from - 1, keys(from), these, BLOCK, Tier.DEVICE, null, null,
              KvEvent.UNSPECIFIED, Spec.UNSPECIFIED, List.of()));
    }

    synchronized void remove(int keep) {
      if (keep < depth) {
        long[] keys = keys(keep);
        depth = keep;
        send(new Removed(keys, Tier.DEVICE, KvEvent.UNSPECIFIED));
      }
    }

    private long[] keys(int from) {
      return IntStream.range(from, depth).mapToLong(i -> firstKey + i).toArray();
    }

    private void send(KvEvent event) {
      QueueOfferResult offered = stream.offer(new KvBatch(sequence++, 0, 0, List.of(event)));
      assertThat(offered.isEnqueued()).isTrue();
    }

    synchronized int depth() {
      return depth;
    }
  }

  private static ActorSystem<Void> system() {
    Config config =
        ConfigFactory.parseString("pekko.remote.artery.canonical { hostname = \"127.0.0.1\", port = 0 }")
            .withFallback(ConfigFactory.parseResources("platform.conf"))
            .withFallback(ConfigFactory.defaultReference())
            .resolve();
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "kvasir", config);
    Cluster.get(system).manager().tell(new Join(Cluster.get(system).selfMember().address()));
    await(() -> Cluster.get(system).selfMember().status().equals(MemberStatus.up()));
    return system;
  }

  private NodeCells node() {
    Metrics metrics = new Metrics(registry);
    return CellsWiring.start(
        system,
        TestSettings.CELL,
        PartitionPolicy.SERVE,
        Set.of(),
        TestProfiles.builtIn("prefix-aware", metrics),
        (worker, pod) ->
            Source.<KvBatch>queue(100_000)
                .mapMaterializedValue(
                    stream -> {
                      Engine engine = new Engine(numbers.incrementAndGet(), stream);
                      engine.store(KEPT);
                      engines.put(worker.id(), engine);
                      return NotUsed.getInstance();
                    }),
        pod -> CompletableFuture.completedFuture(true),
        RetentionRelease.NONE,
        metrics,
        TestSettings.lines(),
        DecisionLog.off(metrics),
        NanoClock.SYSTEM);
  }

  @AfterEach
  void stop() {
    done.set(true);
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().join();
  }

  @Test
  void cell_thatGetsMoreWorkersThanSlots_widensWhileItWorks() throws InterruptedException {
    for (int pod = 0; pod < 4; pod++) {
      node.pods().add(pod("a" + pod, 16));
    }
    await(() -> settled(64));
    assertThat(slots()).isEqualTo(64);
    List<Reservation> inFlight = new ArrayList<>();
    for (String worker : List.of("a0#0", "a1#3", "a3#15", "a3#15")) {
      inFlight.add(decide(worker).reservation());
    }

    List<Throwable> failures = new CopyOnWriteArrayList<>();
    List<Thread> threads =
        List.of(
            start(failures, new SplittableRandom(1), this::tell), start(failures, new SplittableRandom(2), this::ask));
    node.pods().add(pod("b0", 16));
    await(() -> node.fleet().workers().size() == 80 && slots() == 128);
    node.pods().add(pod("b1", 64));
    assertThat(node.pods().remove("a2")).isTrue();
    engines.keySet().removeIf(worker -> worker.startsWith("a2"));
    await(() -> node.fleet().workers().size() == 128 && slots() == 256);
    long before = decisions.get();
    await(() -> decisions.get() > before + 200 || !failures.isEmpty());
    done.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).isEmpty();

    await(() -> settled(128));
    engines.keySet().forEach(worker -> decide(worker).reservation().close(new Outcome.Cancelled()));
    assertThat(inFlight()).isEqualTo(4);
    inFlight.forEach(reservation -> reservation.close(new Outcome.Cancelled()));
    assertThat(inFlight()).isZero();

    engines.values().forEach(engine -> engine.remove(0));
    await(() -> settled(128));
    assertThat(node.fleet().workers()).allSatisfy(worker -> assertThat(worker.index().blocks()).isZero());

    node.pods().add(pod("c0", 64));
    node.pods().add(pod("c1", 64));
    await(() -> settled(256));
    node.pods().add(pod("c2", 1));
    await(() -> node.fleet().workers().size() == 257);
    assertThat(node.fleet().workers()).filteredOn(worker -> worker.worker().pod().equals("c2"))
        .singleElement()
        .satisfies(worker -> assertThat(worker.cell()).endsWith("~2"));
  }

  /** Engines fill and evict. */
  private void tell(SplittableRandom random) {
    for (Engine engine : engines.values()) {
      if (random.nextBoolean()) {
        engine.store(1 + random.nextInt(8));
      } else {
        engine.remove(Math.max(KEPT, engine.depth() - random.nextInt(12)));
      }
    }
    LockSupport.parkNanos(1_000_000);
  }

  /** Requests find the one worker that has their prompt. */
  private void ask(SplittableRandom random) {
    List<String> workers = List.copyOf(engines.keySet());
    String worker = workers.get(random.nextInt(workers.size()));
    // One that has just been added, or is about to leave, may not be chosen.
    if (worker.startsWith("a") && !worker.startsWith("a2")) {
      decide(worker).reservation().close(new Outcome.Cancelled());
      decisions.incrementAndGet();
    }
  }

  /** Of a request whose answer is to come whole: none ever comes, and a worker that streams none stands still. */
  private Decision.Chosen decide(String worker) {
    Engine engine = Objects.requireNonNull(engines.get(worker));
    Decision decision =
        node.cells().decide(
            new DecisionRequest(
                "r", MODEL, null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(engine.kept, KEPT * BLOCK + 1),
                PreparedSlots.EMPTY, false, DecisionRequest.Constraints.NONE));
    assertThat(decision).isInstanceOf(Decision.Planned.class);
    Decision.Chosen chosen = ((Decision.Planned) decision).last();
    assertThat(chosen.worker().id()).isEqualTo(worker);
    assertThat(chosen.depth()).isEqualTo(KEPT);
    return chosen;
  }

  private Thread start(List<Throwable> failures, SplittableRandom random, Step step) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                while (!done.get()) {
                  step.run(random);
                }
              } catch (Throwable e) {
                failures.add(e);
              }
            });
  }

  private interface Step {
    void run(SplittableRandom random);
  }

  /** Whether so many workers are there, well, and the index knows of each what its engine holds. */
  private boolean settled(int workers) {
    List<WorkerStatus> now = node.fleet().workers();
    return now.size() == workers
        && now.stream()
            .allMatch(
                worker -> {
                  Engine engine = engines.get(worker.worker().id());
                  return engine != null
                      && worker.index().blocks() == engine.depth()
                      && worker.health() == WorkerStatus.Health.HEALTHY;
                });
  }

  private int inFlight() {
    return node.fleet().workers().stream().mapToInt(worker -> worker.load().inFlight()).sum();
  }

  private int slots() {
    return registry.scrape(name -> name.equals("kvasir_index_slots")).stream()
        .flatMap(metric -> ((GaugeSnapshot) metric).getDataPoints().stream())
        .mapToInt(point -> (int) point.getValue())
        .sum();
  }

  private static PodSpec pod(String name, int ranks) {
    return TestPods.pod(name)
        .models(MODEL)
        .ranks(ranks)
        .blockSize(BLOCK)
        .maxInFlight(16)
        .events(List.of(new EventFeed.Push("key")))
        .build();
  }

  private static void await(Await.Condition condition) {
    Await.within(PATIENCE, condition);
  }
}
