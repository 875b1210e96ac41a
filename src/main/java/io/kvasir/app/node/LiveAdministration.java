package io.kvasir.app.node;

import io.kvasir.app.config.BuildVersion;
import io.kvasir.cell.Cells;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.FleetDescription;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminTopic;
import io.kvasir.gateway.admin.FleetHandler;
import io.kvasir.gateway.admin.ProfileFigures;
import io.kvasir.gateway.admin.SourcesHandler;
import io.kvasir.gateway.admin.tenants.TenantReport;
import io.kvasir.gateway.admin.tenants.TenantsHandler;
import io.kvasir.gateway.admin.vitals.NodeReport;
import io.kvasir.gateway.admin.vitals.VitalsHandler;
import io.kvasir.gateway.admin.vitals.VitalsMeter;
import io.kvasir.gateway.admin.watch.TopicPublisher;
import io.kvasir.gateway.admin.watch.WatchHandler;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import io.kvasir.time.Timer;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.typed.Cluster;

/** The parts of the admin API that show the nodes as they run: their vitals, and topics to be watched. Thread-safe. */
final class LiveAdministration implements AutoCloseable {
  private final VitalsMeter meter;
  private final NodeReports nodes;
  private final Timer timer;
  private final VitalsHandler vitals;
  private final TenantsHandler tenants;
  private final TopicPublisher publisher;
  private final FleetDescription fleet;
  private volatile boolean closed;

  /**
   * Of a node that has started.
   *
   * @param problems what is wrong with it, the worst first
   * @param ownTenants the traffic of tenants through it
   */
  LiveAdministration(
      ActorSystem<?> system,
      Metrics metrics,
      Cells cells,
      FleetDescription fleet,
      Supplier<List<Problem>> problems,
      Supplier<List<TenantReport>> ownTenants) {
    Executor threads = task -> Thread.ofVirtual().name("kvasir-admin").start(task);
    this.meter = new VitalsMeter(metrics, NanoClock.SYSTEM);
    this.fleet = fleet;
    this.timer = new PlatformTimer(system);
    this.nodes =
        new NodeReports(
            system, () -> report(system, problems.get()), meter::history, ownTenants, threads, NanoClock.SYSTEM);
    Recent<ClusterStatus> cluster = new Recent<>(cluster(), NanoClock.SYSTEM);
    this.vitals = new VitalsHandler(nodes, cells, cluster::get, InstantSource.system());
    this.tenants = new TenantsHandler(nodes::tenants);
    List<AdminTopic> topics = new ArrayList<>(FleetHandler.topics(cluster::get));
    topics.add(vitals.topic());
    topics.add(tenants.topic());
    topics.add(SourcesHandler.topic(() -> cluster.get().workers()));
    this.publisher = new TopicPublisher(topics, timer, threads);
    timer.schedule(VitalsMeter.STEP.toNanos(), this::sample);
  }

  /** Its routes. */
  List<AdminResource> resources() {
    return List.of(vitals, tenants, new SourcesHandler(fleet), new WatchHandler(publisher));
  }

  /** The figures of profiles. */
  ProfileFigures profileFigures() {
    return new ProfileFigures(meter.window());
  }

  /** Describes the cluster as it is, with what each node says of itself. */
  Supplier<ClusterStatus> cluster() {
    return () -> nodes.completed(fleet.cluster());
  }

  /** Ends the streams. */
  @Override
  public void close() {
    closed = true;
    publisher.close();
  }

  /** Goes on also when nobody looks: whoever does later sees how it came to be so. */
  private void sample() {
    if (!closed) {
      meter.sample();
      timer.schedule(VitalsMeter.STEP.toNanos(), this::sample);
    }
  }

  private NodeReport report(ActorSystem<?> system, List<Problem> problems) {
    Cluster cluster = Cluster.get(system);
    VitalsMeter.Measured now = meter.now();
    return new NodeReport(
        NodeReports.hostAndPort(cluster.selfMember().address()),
        Objects.requireNonNullElse(BuildVersion.ofBuild(), "development"),
        system.uptime(),
        cluster.isTerminated(),
        now.seconds(),
        now.figures(),
        problems);
  }
}
