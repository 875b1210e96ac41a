package io.kvasir.app.node;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.gateway.admin.tenants.TenantReport;
import io.kvasir.gateway.admin.vitals.ClusterVitals.Answers;
import io.kvasir.gateway.admin.vitals.NodeReport;
import io.kvasir.gateway.admin.vitals.VitalFigures;
import io.kvasir.gateway.admin.vitals.VitalSample;
import io.kvasir.gateway.traffic.TenantTraffic;
import io.kvasir.telemetry.BucketCounts;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Two nodes of a cluster that tell each other how they are, over real connections. */
final class NodeReportsTest {
  private static final List<ActorSystem<Void>> SYSTEMS = new ArrayList<>();

  private final ManualClock clock = new ManualClock();
  private final AtomicInteger written = new AtomicInteger();

  @AfterAll
  static void stop() {
    SYSTEMS.forEach(ActorSystem::terminate);
    SYSTEMS.forEach(system -> system.getWhenTerminated().toCompletableFuture().join());
    SYSTEMS.clear();
  }

  @Test
  void nodes_reportOnceASecond_andOneThatDoesNotIsNamed() {
    ActorSystem<Void> here = start();
    ActorSystem<Void> there = start();
    await("both are up", () -> isUp(here) && isUp(there));
    NodeReports reports = reports(here, new AtomicInteger());

    assertThat(reports.reports().byNode()).containsOnlyKeys(address(here));
    assertThat(reports.reports().missing()).containsExactly(address(there));
    assertThat(reports.tenants().missing()).containsExactly(address(there));
    assertThat(reports.completed(status(here, there)).nodes())
        .extracting(NodeStatus::uptime).containsExactly(Duration.ofSeconds(1), null);

    reports(there, written);
    awaitAnswer("the other one answers", () -> reports.reports().missing().isEmpty());
    int before = written.get();
    clock.advance(Duration.ofSeconds(1));
    for (int i = 0; i < 20; i++) {
      Answers<NodeReport> answers = reports.reports();
      assertThat(answers.byNode()).containsOnlyKeys(address(here), address(there));
      assertThat(answers.byNode().firstEntry().getKey()).isEqualTo(address(here));
    }
    assertThat(written.get() - before).as("reports written in a second, however often they are looked at").isEqualTo(1);
    assertThat(reports.reports().byNode().lastEntry().getValue()).isEqualTo(report(there));
    assertThat(reports.completed(status(here, there)).nodes().getLast())
        .isEqualTo(new NodeStatus(
            address(there), "up", true, "9.9.9", false, false, Duration.ofSeconds(77)));
    // A node that is late once is asked again after a second.
    awaitAnswer("its history", () -> List.of(sample()).equals(reports.histories().byNode().get(address(there))));
    awaitAnswer(
        "its tenants",
        () -> reports.tenants().byNode().keySet().equals(Set.of(address(here), address(there)))
            && List.of(tenant()).equals(reports.tenants().byNode().get(address(there))));
  }

  private void awaitAnswer(String what, BooleanSupplier come) {
    await(what, () -> {
      clock.advance(Duration.ofSeconds(1));
      return come.getAsBoolean();
    });
  }

  private NodeReports reports(ActorSystem<Void> system, AtomicInteger counter) {
    return new NodeReports(
        system,
        () -> {
          counter.incrementAndGet();
          return report(system);
        },
        () -> List.of(sample()),
        () -> List.of(tenant()),
        Runnable::run,
        clock);
  }

  private static NodeReport report(ActorSystem<Void> system) {
    return new NodeReport(
        address(system), "9.9.9", 77, false, 10, sample().figures(), List.of(Problem.warning("what", "remedy")));
  }

  private static VitalSample sample() {
    BucketCounts ttft = new BucketCounts(List.of(1.0, Double.POSITIVE_INFINITY), List.of(2.0, 1.0));
    return new VitalSample(2.5, new VitalFigures(List.of(1.0, 0.5), ttft));
  }

  private static TenantReport tenant() {
    return new TenantReport(
        new TenantTraffic.Figures("team-a", 1.5, 2, new TenantTraffic.Totals(9, 1, 800, 500, 30, 9, 0.9)),
        List.of(new TenantReport.LimitUse("tokens", 60_000, 900, 1000)));
  }

  private static ClusterStatus status(ActorSystem<Void> here, ActorSystem<Void> there) {
    return new ClusterStatus(
        List.of(
            new NodeStatus(address(here), "up", true, "1", true, false, Duration.ofSeconds(1)),
            new NodeStatus(address(there), "up", true, "1", false, null, null)),
        List.of(),
        List.of());
  }

  private static String address(ActorSystem<Void> system) {
    return NodeReports.hostAndPort(Cluster.get(system).selfMember().address());
  }

  private static boolean isUp(ActorSystem<Void> system) {
    int up = 0;
    for (var member : Cluster.get(system).state().getMembers()) {
      up += member.status().equals(MemberStatus.up()) ? 1 : 0;
    }
    return up == 2;
  }

  private static ActorSystem<Void> start() {
    Config config =
        ConfigFactory.parseString("pekko.remote.artery.canonical { hostname = \"127.0.0.1\", port = 0 }")
            .withFallback(ConfigFactory.parseResources("platform.conf"))
            .withFallback(ConfigFactory.defaultReference())
            .resolve();
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "kvasir", config);
    SYSTEMS.add(system);
    Cluster cluster = Cluster.get(system);
    cluster.manager().tell(Join.create(Cluster.get(SYSTEMS.getFirst()).selfMember().address()));
    return system;
  }
}
