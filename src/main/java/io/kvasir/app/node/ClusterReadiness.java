package io.kvasir.app.node;

import io.kvasir.app.membership.Membership;
import io.kvasir.cell.Cells;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.WorkerStatus;
import java.util.List;
import java.util.Optional;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;

/** Derives readiness from a node's place in the cluster and from the health of the workers. Thread-safe. */
final class ClusterReadiness {
  /** The degradation while a node is cut off. */
  private static final String ALONE =
      "cut off from the other router nodes: workers are chosen without knowing what they hold";

  private final ActorSystem<?> system;
  private final Cells cells;
  private final Membership membership;
  private final PartitionPolicy partitionPolicy;

  ClusterReadiness(ActorSystem<?> system, Cells cells, Membership membership, PartitionPolicy minority) {
    this.system = system;
    this.cells = cells;
    this.membership = membership;
    this.partitionPolicy = minority;
  }

  /** Adds these checks to a node's readiness. */
  void register(Readiness readiness) {
    readiness.obstacle(this::notProbedYet);
    readiness.obstacle(() -> membership.isCutOff() ? cutOff() : notUp());
    readiness.standaloneWhile(membership::isCutOff);
    readiness.degradation(() -> membership.isCutOff() && partitionPolicy == PartitionPolicy.SERVE ? List.of(ALONE)
        : List.of());
  }

  private Optional<String> notUp() {
    MemberStatus status = Cluster.get(system).selfMember().status();
    return status.equals(MemberStatus.up())
        ? Optional.empty()
        : Optional.of("the node is " + status + " in the cluster");
  }

  private Optional<String> cutOff() {
    return switch (partitionPolicy) {
      case SERVE -> Optional.empty();
      case REFUSE -> Optional.of("the node is cut off from the other router nodes");
    };
  }

  /** A node that has not probed its workers yet would refuse requests that it can serve a moment later. */
  private Optional<String> notProbedYet() {
    long unknown =
        cells.workers().stream().filter(worker -> worker.health() == WorkerStatus.Health.UNKNOWN).count();
    return unknown == 0 ? Optional.empty() : Optional.of(unknown + " workers have not been probed yet");
  }
}
