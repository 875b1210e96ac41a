package io.kvasir.cell;

import io.kvasir.admission.ClassStatus;
import io.kvasir.admission.ModelBacklog;
import io.kvasir.programs.GuardStatus;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The cluster as one node sees it.
 *
 * @param nodes its router nodes, this one among them
 * @param cells every cell of the roster
 * @param workers every worker of every cell whose home replied
 */
public record ClusterStatus(List<NodeStatus> nodes, List<CellStatus> cells, List<WorkerStatus> workers) {
  /**
   * A router node.
   *
   * @param address host and port of its remoting
   * @param state of its membership, such as {@code up} or {@code leaving}
   * @param reachable whether heartbeats reach it
   * @param version of Kvasir that runs there
   * @param self whether it is the node that answers
   * @param cutOff whether the cluster has taken it out while it runs; only the node itself knows, of others it is null
   *     until they say
   * @param uptime how long it has run; null for others than the node that answers, until they say
   */
  public record NodeStatus(
      String address, String state, boolean reachable, String version, boolean self, @Nullable Boolean cutOff,
      @Nullable Duration uptime) {}

  /**
   * A cell.
   *
   * @param home address of its home node, null while it is between homes
   * @param pressure share of what it can do that is in use, null while its home publishes none
   * @param standbys its replicas on other nodes
   * @param waiting who waits at its home
   */
  public record CellStatus(
      String name,
      @Nullable String home,
      @Nullable Double pressure,
      List<StandbyStatus> standbys,
      WaitingStatus waiting) {}

  /**
   * Who waits at a cell's home.
   *
   * @param classes requests, by class; empty where none ever waits
   * @param programs what is known of programs; null where they are not told apart
   * @param models requests, by the models that they name; none of models for which nobody waits
   */
  public record WaitingStatus(
      List<ClassStatus> classes, @Nullable GuardStatus programs, List<ModelBacklog> models) {
    /** Nobody, of whom nothing is known. */
    public static final WaitingStatus NONE = new WaitingStatus(List.of(), null, List.of());

    /** Takes the status of a node of an earlier version, too. */
    public WaitingStatus {
      models = Objects.requireNonNullElse(models, List.of());
    }
  }

  /**
   * A replica of a cell.
   *
   * @param node address of the node that holds it
   * @param warm whether it could take over
   * @param behind events that the home has applied and the replica has not acknowledged
   * @param lagMillis how long the oldest of them has waited, milliseconds
   */
  public record StandbyStatus(String node, boolean warm, long behind, long lagMillis) implements ClusterMessage {}
}
