package io.kvasir.limits;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.TestMembers;
import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.pekko.actor.typed.ActorSystem;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Three router nodes of one cluster, whose limits' owners are wherever sharding has put them. */
final class LimitsClusterTest {
  private static final List<Node> NODES = new ArrayList<>();

  /** Long, so that a busy machine is not taken for a node that is cut off. */
  private static final LimitSettings SETTINGS =
      new LimitSettings(false, new WorkCost(0.1, 3), Duration.ofMinutes(1), Duration.ofSeconds(20), 10);

  private record Node(ActorSystem<Void> system, Limiter limiter) {}

  @BeforeAll
  static void start() {
    for (int i = 0; i < 3; i++) {
      NODES.add(node());
    }
  }

  @AfterAll
  static void stop() {
    TestMembers.stop(NODES.stream().map(Node::system).toList());
    NODES.clear();
  }

  /** A limit that hardly refills while the test runs, asked for by all nodes at once. */
  @Test
  void budget_isUsedUpByAllNodesTogether_andNotBeyond() {
    Limits limits = new Limits(0, 0, 0, List.of(new Limits.Budget(30_000, Duration.ofDays(365))));
    AtomicLong used = new AtomicLong();
    everywhere(node -> {
      Caller caller = new Caller("budget", "t", Grants.ALL, limits, Limits.NONE);
      for (int i = 0; i < 200; i++) {
        LimitReservation reservation = ((Admission.Admitted) node.admit(caller)).reservation();
        if (reservation.reserve(new Demand(100, 0)) == null) {
          used.addAndGet(100);
          reservation.settle(new Work(100, 0, 0));
        } else {
          reservation.cancel();
        }
      }
    });
    assertThat(used.get()).isBetween(28_500L, 30_000L);
  }

  @Test
  void slots_ofATenant_areSharedByItsKeysOnAllNodes() throws Exception {
    Limits slots = new Limits(0, 0, 7, List.of());
    List<LimitReservation> taken = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      Caller caller = new Caller("key-" + i, "slots", Grants.ALL, Limits.NONE, slots);
      if (NODES.get(i % 3).limiter().admit(caller) instanceof Admission.Admitted(LimitReservation reservation)) {
        taken.add(reservation);
      }
    }
    assertThat(taken).hasSize(7);
    taken.forEach(LimitReservation::release);
    Caller last = new Caller("last", "slots", Grants.ALL, Limits.NONE, slots);
    await(() -> NODES.get(1).limiter().admit(last) instanceof Admission.Admitted);
  }

  @Test
  void budgets_areNotForgotten_whenTheNodeStopsThatHasServedAndOwnsThem() throws Exception {
    Limits limits = new Limits(0, 0, 0, List.of(new Limits.Budget(1000, Duration.ofDays(365))));
    List<Caller> callers =
        IntStream.range(0, 8).mapToObj(i -> new Caller("left-" + i, "t", Grants.ALL, limits, Limits.NONE)).toList();
    Node leaving = node();
    for (Caller caller : callers) {
      LimitReservation reservation = ((Admission.Admitted) leaving.limiter().admit(caller)).reservation();
      assertThat(reservation.reserve(new Demand(1000, 0))).isNull();
      reservation.settle(new Work(1000, 0, 0));
    }
    TestMembers.stop(List.of(leaving.system()));
    for (Caller caller : callers) {
      LimitReservation reservation =
          ((Admission.Admitted) NODES.getFirst().limiter().admit(caller)).reservation();
      assertThat(reservation.reserve(new Demand(500, 0))).as(caller.keyId()).isNotNull();
    }
  }

  private interface Load {
    void run(Limiter limiter) throws InterruptedException;
  }

  private static void everywhere(Load load) {
    CompletableFuture.allOf(
            IntStream.range(0, 3)
                .mapToObj(i -> CompletableFuture.runAsync(() -> {
                  try {
                    load.run(NODES.get(i).limiter());
                  } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                  }
                }))
                .toArray(CompletableFuture[]::new))
        .join();
  }

  private static Node node() {
    ActorSystem<Void> system = TestMembers.start(NODES.isEmpty() ? null : NODES.getFirst().system());
    return new Node(
        system,
        LimitsWiring.start(
            system, SETTINGS, new Metrics(new PrometheusRegistry()), NanoClock.SYSTEM, InstantSource.system()));
  }
}
