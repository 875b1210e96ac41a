package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig.ScalingConfig;
import io.kvasir.cell.Cells;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.UnservedDemand;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.scale.keda.ExternalScaler;
import io.kvasir.scale.keda.KedaSettings;
import io.kvasir.scale.live.ScaleGauges;
import io.kvasir.scale.live.ScaleMonitor;
import io.kvasir.scale.live.ScaleReport;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.kvasir.time.Timer;
import java.io.IOException;
import java.time.Duration;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.pubsub.Topic;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The advice for autoscalers of a node: its monitor, which the cluster's leader feeds and publishes for all nodes, the
 * metrics, and the server for KEDA. Thread-safe.
 */
final class ScaleAssembly implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ScaleAssembly.class);
  private static final String NAME = "kvasir-scale";

  /** So long at most a request for a model without workers waits before the node that leads knows of it. */
  private static final long PUBLISH_NANOS = 500_000_000;

  /** Crosses between nodes. */
  sealed interface Message {}

  /** What the leader has worked out. */
  record Published(ScaleReport report) implements Message {}

  /**
   * What the fleet has not served of a node's requests.
   *
   * @param node its address
   */
  record Unserved(String node, UnservedDemand demand) implements Message {}

  private final Timer timer;
  private final Duration interval;
  private final Cells cells;
  private final String self;
  private final ActorRef<Topic.Command<Unserved>> unserved;
  private final ScaleMonitor monitor;
  private final @Nullable ExternalScaler scaler;
  private volatile boolean closed;
  private UnservedDemand published = UnservedDemand.NONE;

  /**
   * Begins to work out the advice.
   *
   * @throws StartException when KEDA's port is taken, or its certificate cannot be used
   */
  ScaleAssembly(ScalingConfig config, ActorSystem<?> system, Cells cells, FleetDescription fleet, CostModel costs,
      Metrics metrics)
      throws StartException {
    this.timer = new PlatformTimer(system);
    this.interval = config.advice().interval();
    ActorRef<Topic.Command<Published>> topic =
        system.systemActorOf(Topic.create(Published.class, NAME), NAME + "-topic", Props.empty());
    Cluster cluster = Cluster.get(system);
    this.monitor =
        new ScaleMonitor(
            config.advice(), fleet::cluster, costs, () -> leads(cluster),
            report -> topic.tell(Topic.publish(new Published(report))), NanoClock.SYSTEM);
    ActorRef<Published> follower = system.systemActorOf(following(monitor), NAME, Props.empty());
    topic.tell(Topic.subscribe(follower));
    this.unserved =
        system.systemActorOf(Topic.create(Unserved.class, NAME + "-unserved"), NAME + "-unserved-topic", Props.empty());
    unserved.tell(
        Topic.subscribe(system.systemActorOf(adding(), NAME + "-unserved", Props.empty())));
    this.cells = cells;
    this.self = cluster.selfMember().address().hostPort();
    metrics.registry().register(new ScaleGauges(monitor::report));
    this.scaler = start(config.keda(), monitor);
    schedule();
    schedulePublishing();
  }

  private static boolean leads(Cluster cluster) {
    return !cluster.isTerminated() && cluster.selfMember().address().equals(cluster.state().getLeader());
  }

  private static Behavior<Published> following(ScaleMonitor monitor) {
    Behavior<Published> following =
        Behaviors.receiveMessage(
            published -> {
              monitor.follow(published.report());
              return Behaviors.same();
            });
    // A report that is not understood, as of a node of another version, is logged, and the next one is followed.
    return Behaviors.supervise(following).onFailure(SupervisorStrategy.resume());
  }

  private Behavior<Unserved> adding() {
    Behavior<Unserved> adding =
        Behaviors.receiveMessage(
            message -> {
              if (monitor.add(message.node(), message.demand())) {
                inBackground(this::workOut);
              }
              return Behaviors.same();
            });
    return Behaviors.supervise(adding).onFailure(SupervisorStrategy.resume());
  }

  private static @Nullable ExternalScaler start(@Nullable KedaSettings settings, ScaleMonitor monitor)
      throws StartException {
    if (settings == null) {
      return null;
    }
    try {
      return new ExternalScaler(settings, monitor);
    } catch (IOException unusable) {
      throw new StartException(
          "the listener for KEDA cannot start: " + unusable.getMessage()
              + "; set kvasir.scale.keda.port to a free one, or look at kvasir.scale.keda.tls",
          unusable);
    }
  }

  private static void inBackground(Runnable work) {
    Thread.ofVirtual().name(NAME).start(work);
  }

  private void schedule() {
    if (!closed) {
      timer.schedule(interval.toNanos(), () -> inBackground(this::tick));
    }
  }

  private void tick() {
    workOut();
    schedule();
  }

  private void workOut() {
    try {
      if (!closed) {
        monitor.tick();
      }
    } catch (RuntimeException failed) {
      LOG.warn("the advice for autoscalers could not be worked out; it stays as it was", failed);
    }
  }

  private void schedulePublishing() {
    if (!closed) {
      timer.schedule(PUBLISH_NANOS, () -> {
        publishUnserved();
        schedulePublishing();
      });
    }
  }

  /** Also that there is nothing any more, and nothing while there was nothing. */
  private void publishUnserved() {
    try {
      UnservedDemand now = cells.takeUnserved();
      if (!now.isEmpty() || !published.isEmpty()) {
        unserved.tell(Topic.publish(new Unserved(self, now)));
      }
      published = now;
    } catch (RuntimeException failed) {
      LOG.warn("what this node has not served could not be told to autoscalers; it is tried again", failed);
    }
  }

  /** The advice as of a moment ago. */
  ScaleReport report() {
    return monitor.report();
  }

  /** The server for KEDA, null without one. */
  @Nullable ExternalScaler scaler() {
    return scaler;
  }

  @Override
  public void close() {
    closed = true;
    if (scaler != null) {
      scaler.close();
    }
  }
}
