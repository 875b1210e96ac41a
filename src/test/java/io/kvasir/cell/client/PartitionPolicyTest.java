package io.kvasir.cell.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.Await;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Down;
import org.apache.pekko.cluster.typed.Join;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A node that is taken out of the cluster while it is a home of a cell. */
final class PartitionPolicyTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final PodSpec POD =
      TestPods.pod("pod").build();
  private static final DecisionRequest REQUEST =
      new DecisionRequest(
          "r", "m", null, RequestShape.INDIVISIBLE, new DecisionRequest.Prompt(Chain.EMPTY, 100),
          PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);

  private final ActorSystem<Void> system =
      ActorSystem.create(
          Behaviors.empty(),
          "kvasir",
          ConfigFactory.parseString("pekko.remote.artery.canonical { hostname = \"127.0.0.1\", port = 0 }")
              .withFallback(ConfigFactory.parseResources("platform.conf"))
              .withFallback(ConfigFactory.defaultReference())
              .resolve());

  @AfterEach
  void stop() {
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().join();
  }

  @Test
  void serve_goesOnWithTheRoster() {
    ClusterCells cells = cutOff(PartitionPolicy.SERVE).cells();
    Decision.Planned planned = (Decision.Planned) cells.decide(REQUEST);
    assertThat(planned.reason()).startsWith("fallback; this node is cut off");
    assertThat(planned.last().worker().id()).isEqualTo("pod");
    planned.close(new Outcome.Cancelled());
  }

  @Test
  void refuse_hasNoWorker_andSaysWhy() {
    ClusterCells cells = cutOff(PartitionPolicy.REFUSE).cells();
    assertThat(cells.decide(REQUEST))
        .isInstanceOfSatisfying(
            Decision.NoWorker.class,
            none -> {
              assertThat(none.reason()).isEqualTo(Decision.NoWorkerReason.CUT_OFF);
              assertThat(none.detail()).contains("cut off");
            });
  }

  @Test
  void status_isTheNodesOwn() {
    ClusterStatus status = cutOff(PartitionPolicy.SERVE).fleet().cluster();
    assertThat(status.nodes()).singleElement().extracting(ClusterStatus.NodeStatus::state).isEqualTo("cut off");
    assertThat(status.nodes()).allMatch(ClusterStatus.NodeStatus::cutOff);
    assertThat(status.cells()).singleElement().satisfies(cell -> assertThat(cell.home()).isNull());
    assertThat(status.workers()).isEmpty();
  }

  private NodeCells cutOff(PartitionPolicy minority) {
    Cluster cluster = Cluster.get(system);
    Metrics metrics = new Metrics(new PrometheusRegistry());
    NodeCells node =
        CellsWiring.start(
            system,
            TestSettings.CELL,
            minority,
            Set.of(POD),
            TestProfiles.builtIn("least-loaded", metrics),
            (worker, pod) -> Source.never(),
            pod -> CompletableFuture.completedFuture(true),
            RetentionRelease.NONE,
            metrics,
            TestSettings.lines(),
            DecisionLog.off(metrics),
            NanoClock.SYSTEM);
    cluster.manager().tell(new Join(cluster.selfMember().address()));
    await(() -> node.cells().isHome("m"));
    cluster.manager().tell(new Down(cluster.selfMember().address()));
    await(() -> cluster.isTerminated() && !node.cells().isHome("m"));
    return node;
  }

  private static void await(Await.Condition condition) {
    Await.within(PATIENCE, condition);
  }
}
