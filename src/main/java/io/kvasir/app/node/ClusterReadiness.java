package io.kvasir.app.node;

import io.kvasir.app.membership.Membership;
import io.kvasir.cell.Cells;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.telemetry.Problem;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;

/** Derives readiness from a node's place in the cluster and from the health of the workers. Thread-safe. */
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
  private final Cells cells;
  private final FleetDescription fleet;
  private final Membership membership;
  private final PartitionPolicy partitionPolicy;
  private final WorkerWaits waits;

  ClusterReadiness(
      ActorSystem<?> system, Cells cells, FleetDescription fleet, Membership membership, PartitionPolicy minority,
      WorkerWaits waits) {
    this.system = system;
    this.cells = cells;
    this.fleet = fleet;
    this.membership = membership;
    this.partitionPolicy = minority;
    this.waits = waits;
  }

  /** Adds these checks to a node's readiness. */
  void register(Readiness readiness) {
    readiness.obstacle(this::notProbedYet);
    readiness.obstacle(() -> membership.isCutOff() ? cutOff() : notUp());
    readiness.standaloneWhile(membership::isCutOff);
    readiness.degradation(fleet::problems);
    readiness.degradation(this::ofWorkers);
    readiness.degradation(() -> membership.isCutOff() && partitionPolicy == PartitionPolicy.SERVE ? List.of(ALONE)
        : List.of());
  }

  private Optional<Problem> notUp() {
    MemberStatus status = Cluster.get(system).selfMember().status();
    return status.equals(MemberStatus.up())
        ? Optional.empty()
        : Optional.of(Problem.error(
            "the node is " + status + " in the cluster",
            "wait a moment; if it stays, see that the nodes reach each other: GET /admin/cluster on each"));
  }

  private Optional<Problem> cutOff() {
    return switch (partitionPolicy) {
      case SERVE -> Optional.empty();
      case REFUSE -> Optional.of(CUT_OFF);
    };
  }

  /** A node that has not probed its workers yet would refuse requests that it can serve a moment later. */
  private Optional<Problem> notProbedYet() {
    long unknown =
        cells.workers().stream().filter(worker -> worker.health() == WorkerStatus.Health.UNKNOWN).count();
    return unknown == 0
        ? Optional.empty()
        : Optional.of(Problem.error(
            unknown + " workers have not been probed yet",
            "wait a moment: each is asked within the interval of probes (kvasir.cell.health)"));
  }

  /** A node that knows how its workers are is ready even where none of them can serve: others can no better. */
  private List<Problem> ofWorkers() {
    List<WorkerSummary> workers = cells.workers();
    return workers.stream().anyMatch(worker -> worker.health() == WorkerStatus.Health.UNKNOWN)
        ? List.of()
        : Stream.concat(UnservedModels.problems(workers, waits).stream(), LostWorkers.problem(workers).stream())
            .toList();
  }
}
