package io.kvasir.cell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.index.Chain;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.apache.pekko.cluster.typed.Leave;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two router nodes, each an actor system of its own, over real remoting. */
final class ClusterCellsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String MODEL = "m";

  private final List<ActorSystem<Void>> systems = new ArrayList<>();

  @AfterEach
  void stop() {
    systems.forEach(ActorSystem::terminate);
    systems.forEach(system -> system.getWhenTerminated().toCompletableFuture().join());
  }

  @Test
  void decide_unknownModel() {
    ClusterCells cells = node(Set.of());
    assertThat(cells.decide(request("other"))).isInstanceOf(Decision.NoWorker.class);
  }

  @Test
  void decide_onOneNode_booksAndReleasesOnce() {
    ClusterCells cells = node(Set.of(pod("a", 4)));
    Decision.Chosen chosen = awaitChosen(cells);
    assertThat(inFlight(cells)).isEqualTo(1);
    assertThat(pending(cells)).isEqualTo(100);
    chosen.reservation().firstToken();
    chosen.reservation().firstToken();
    assertThat(pending(cells)).isZero();
    assertThat(inFlight(cells)).isEqualTo(1);
    chosen.reservation().close(new Outcome.Cancelled());
    chosen.reservation().close(new Outcome.Cancelled());
    assertThat(inFlight(cells)).isZero();
  }

  @Test
  void decide_fullWorkerYields_thenAllFull() {
    ClusterCells cells = node(Set.of(pod("a", 1), pod("b", 1)));
    await(() -> healthy(cells) == 2);
    Set<String> chosen = new HashSet<>();
    chosen.add(awaitChosen(cells).worker().id());
    chosen.add(awaitChosen(cells).worker().id());
    assertThat(chosen).containsExactlyInAnyOrder("a", "b");
    assertThat(cells.decide(request(MODEL)))
        .isInstanceOfSatisfying(
            Decision.NoWorker.class, none -> assertThat(none.why()).isEqualTo(Decision.Why.ALL_FULL));
  }

  @Test
  void remove_whileReserved_newWorkerStartsUnbooked() {
    ClusterCells cells = node(Set.of(pod("a", 4)));
    Decision.Chosen chosen = awaitChosen(cells);
    assertThat(cells.remove("a")).isTrue();
    await(() -> cells.workers().isEmpty());
    cells.add(pod("a", 4));
    await(() -> healthy(cells) == 1);
    chosen.reservation().close(new Outcome.Cancelled());
    assertThat(inFlight(cells)).isZero();
  }

  @Test
  void add_nameTaken_saysSo() {
    ClusterCells cells = node(Set.of());
    cells.add(pod("a", 4));
    assertThatThrownBy(() -> cells.add(pod("a", 4)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'a'");
    assertThat(cells.drain("nobody")).isFalse();
    assertThat(cells.remove("nobody")).isFalse();
  }

  @Test
  void drain_getsNothingNew() {
    ClusterCells cells = node(Set.of(pod("a", 4)));
    awaitChosen(cells);
    assertThat(cells.drain("a")).isTrue();
    await(() -> cells.decide(request(MODEL)) instanceof Decision.NoWorker);
    assertThat(inFlight(cells)).isEqualTo(1);
  }

  @Test
  void decide_onTheOtherNode_isBookedAtTheHome() {
    ClusterCells first = node(Set.of(pod("a", 4)));
    awaitChosen(first).reservation().close(new Outcome.Cancelled());
    ClusterCells second = node(Set.of());
    await(() -> second.models().contains(MODEL));
    ClusterCells other = second.atHome(MODEL) ? first : second;
    ClusterCells home = second.atHome(MODEL) ? second : first;

    Decision.Chosen chosen = awaitChosen(other);
    assertThat(chosen.worker().id()).isEqualTo("a");
    assertThat(inFlight(home)).isEqualTo(1);
    assertThat(inFlight(other)).as("asked over the cluster").isEqualTo(1);
    chosen.reservation().firstToken();
    await(() -> pending(home) == 0);
    chosen.reservation().close(new Outcome.Completed(100, 0, 5, 1000));
    await(() -> inFlight(home) == 0);
  }

  @Test
  void askingNodeLeaves_itsReservationsAreReleased() {
    ClusterCells first = node(Set.of(pod("a", 4)));
    awaitChosen(first).reservation().close(new Outcome.Cancelled());
    ClusterCells second = node(Set.of());
    await(() -> second.models().contains(MODEL));
    boolean secondIsHome = second.atHome(MODEL);
    ClusterCells other = secondIsHome ? first : second;
    ClusterCells home = secondIsHome ? second : first;
    ActorSystem<Void> lost = systems.get(secondIsHome ? 0 : 1);

    awaitChosen(other);
    awaitChosen(other);
    assertThat(inFlight(home)).isEqualTo(2);
    Cluster cluster = Cluster.get(lost);
    cluster.manager().tell(new Leave(cluster.selfMember().address()));
    await(() -> inFlight(home) == 0);
  }

  private ClusterCells node(Set<PodSpec> pods) {
    Config config =
        ConfigFactory.parseString("pekko.remote.artery.canonical { hostname = \"127.0.0.1\", port = 0 }")
            .withFallback(ConfigFactory.parseResources("platform.conf"))
            .withFallback(ConfigFactory.defaultReference())
            .resolve();
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "kvasir", config);
    systems.add(system);
    Cluster.get(system).manager().tell(new Join(Cluster.get(systems.get(0)).selfMember().address()));
    await(() -> Cluster.get(system).selfMember().status().equals(MemberStatus.up()));
    Metrics metrics = new Metrics(new PrometheusRegistry());
    CellSettings settings =
        new CellSettings(
            64,
            1 << 26,
            Duration.ofSeconds(3),
            Duration.ofMinutes(10),
            new CellSettings.HealthSettings(
                Duration.ofSeconds(5), Duration.ofMillis(50), 10, Duration.ofSeconds(60), 3));
    return new ClusterCells(
        system,
        settings,
        pods,
        TestProfiles.builtIn("least-loaded", metrics),
        (worker, pod) -> Source.never(),
        pod -> CompletableFuture.completedFuture(true),
        new CellMetrics(metrics));
  }

  private static PodSpec pod(String name, int maxInFlight) {
    return new PodSpec(
        name, URI.create("http://" + name + ".test"), Role.BOTH, Set.of(MODEL), 1, 16, Map.of(), maxInFlight,
        "h100-Qwen2.5-7B-tp1", null);
  }

  private static DecisionRequest request(String model) {
    return new DecisionRequest("r", model, null, Role.BOTH, Chain.EMPTY, 100, null, Set.of());
  }

  private static Decision.Chosen awaitChosen(ClusterCells cells) {
    CompletableFuture<Decision.Chosen> chosen = new CompletableFuture<>();
    await(
        () -> {
          if (cells.decide(request(MODEL)) instanceof Decision.Chosen found) {
            chosen.complete(found);
          }
          return chosen.isDone();
        });
    return chosen.join();
  }

  private static int inFlight(ClusterCells cells) {
    return cells.workers().stream().mapToInt(WorkerStatus::inFlight).sum();
  }

  private static long pending(ClusterCells cells) {
    return cells.workers().stream().mapToLong(WorkerStatus::pendingTokens).sum();
  }

  private static long healthy(ClusterCells cells) {
    return cells.workers().stream()
        .filter(worker -> worker.health() == WorkerStatus.Health.HEALTHY)
        .count();
  }

  private static void await(BooleanSupplier condition) {
    Instant deadline = Instant.now().plus(PATIENCE);
    while (!condition.getAsBoolean()) {
      assertThat(Instant.now()).as("waited too long").isBefore(deadline);
      Thread.onSpinWait();
      LockSupport.parkNanos(5_000_000);
    }
  }
}
