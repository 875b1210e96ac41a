package io.kvasir.app.node;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import java.time.Duration;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;

/** Starts the actor system of a node. */
final class NodeSystem {
  /** Time limit of a shutdown step beyond what the operator has set. */
  private static final Duration STEP = Duration.ofSeconds(15);

  private NodeSystem() {}

  /**
   * Starts the actor system, as a member of a cluster or about to become one.
   *
   * @throws StartException when its port is taken
   */
  static ActorSystem<Void> start(KvasirConfig config) throws StartException {
    ActorSystem<Void> system;
    try {
      system = ActorSystem.create(Behaviors.empty(), "kvasir", phases(config));
    } catch (RuntimeException failed) {
      throw new StartException(
          "the cluster's transport cannot start: " + failed.getMessage() + "; see kvasir.cluster.host and port",
          failed);
    }
    if (isAlone(config)) {
      Cluster cluster = Cluster.get(system);
      cluster.manager().tell(Join.create(cluster.selfMember().address()));
    }
    return system;
  }

  /** Whether the node forms a cluster of its own, without looking for others. */
  static boolean isAlone(KvasirConfig config) {
    return config.cluster().discovery() == NodeDiscovery.SEEDS
        && config.source().platform().getStringList("pekko.cluster.seed-nodes").isEmpty();
  }

  /** The platform's settings, with shutdown phases as long as the drain times. */
  private static Config phases(KvasirConfig config) {
    Duration delay = config.gateway().drainDelay() == null ? Duration.ZERO : config.gateway().drainDelay();
    return config.source().platform()
        .withValue(
            "pekko.coordinated-shutdown.phases.before-service-unbind.timeout",
            ConfigValueFactory.fromAnyRef(delay.plus(STEP)))
        .withValue(
            "pekko.coordinated-shutdown.phases.service-requests-done.timeout",
            ConfigValueFactory.fromAnyRef(config.gateway().drainTimeout().plus(STEP)))
        .withValue(
            "pekko.coordinated-shutdown.phases.service-stop.timeout", ConfigValueFactory.fromAnyRef(STEP))
        .withValue(
            "pekko.coordinated-shutdown.phases.before-actor-system-terminate.timeout",
            ConfigValueFactory.fromAnyRef(STEP));
  }
}
