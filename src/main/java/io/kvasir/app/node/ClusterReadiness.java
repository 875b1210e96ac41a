package io.kvasir.app.node;

import io.kvasir.app.membership.Membership;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.telemetry.Problem;
import java.util.List;
import java.util.Optional;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;

/** Derives readiness from a node's place in the cluster, and from the workers once it has one. Thread-safe. */
final class ClusterReadiness {
  /** The degradation while a node is cut off. */
  private static final Problem ALONE =
      Problem.warning(
          "cut off from the other router nodes: workers are chosen without knowing what they hold",
          "mend the network between the nodes; this one rejoins by itself");

  private static final Problem CUT_OFF =
      Problem.error(
          "the node is cut off from the other router nodes",
          "mend the network between the nodes; this one rejoins by itself");

  private final ActorSystem<?> system;
  private final WorkerReadiness workers;
  private final FleetDescription fleet;
  private final Membership membership;
  private final PartitionPolicy partitionPolicy;

  ClusterReadiness(
      ActorSystem<?> system, WorkerReadiness workers, FleetDescription fleet, Membership membership,
      PartitionPolicy minority) {
    this.system = system;
    this.workers = workers;
    this.fleet = fleet;
    this.membership = membership;
    this.partitionPolicy = minority;
  }

  /** Adds these checks to a node's readiness. */
  void register(Readiness readiness) {
    readiness.obstacle(() -> isUp() ? workers.obstacle() : Optional.empty());
    readiness.obstacle(() -> membership.isCutOff() ? cutOff() : notUp());
    readiness.standaloneWhile(membership::isCutOff);
    readiness.degradation(fleet::problems);
    readiness.degradation(workers::degradations);
    readiness.degradation(() -> membership.isCutOff() && partitionPolicy == PartitionPolicy.SERVE ? List.of(ALONE)
        : List.of());
  }

  private boolean isUp() {
    return status().equals(MemberStatus.up());
  }

  private MemberStatus status() {
    return Cluster.get(system).selfMember().status();
  }

  private Optional<Problem> notUp() {
    return isUp()
        ? Optional.empty()
        : Optional.of(Problem.error(
            "the node is " + status() + " in the cluster",
            "wait a moment; if it stays, see that the nodes reach each other: GET /admin/cluster on each"));
  }

  private Optional<Problem> cutOff() {
    return switch (partitionPolicy) {
      case SERVE -> Optional.empty();
      case REFUSE -> Optional.of(CUT_OFF);
    };
  }
}
