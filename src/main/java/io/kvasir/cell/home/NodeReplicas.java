package io.kvasir.cell.home;

import io.kvasir.cell.ClusterStatus.StandbyStatus;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.standby.ReplicaLag;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.worker.Member;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorRef;

/**
 * The replicas of a cell by the nodes that hold them, as its home has them fed: each is of all workers, whose events'
 * actors feed it. The cell's actor's.
 */
final class NodeReplicas {
  /** Snapshots of workers sent to a replica at a time: each may have some ten megabytes. */
  private static final int MAX_SNAPSHOTS = 4;

  private static final long CHECK_NANOS = Duration.ofSeconds(1).toNanos();

  private final Members members;
  private final EventActors events;
  private final Map<String, Replica> replicas = new HashMap<>();
  private long checkedNanos;

  /** What a node's replica has been sent. */
  private static final class Replica {
    private final ActorRef<Standby.Message> standby;
    private final Map<Member, ReplicaLag> lags = new HashMap<>();
    private Set<String> reachable = Set.of();

    Replica(ActorRef<Standby.Message> standby) {
      this.standby = standby;
    }

    boolean isWarm(Set<Member> all) {
      return lags.keySet().containsAll(all) && lags.values().stream().allMatch(ReplicaLag::warm);
    }
  }

  /** None yet. */
  NodeReplicas(Members members, EventActors events) {
    this.members = members;
    this.events = events;
  }

  boolean isEmpty() {
    return replicas.isEmpty();
  }

  /** Begins with a replica on a node; returns false when there it is already. */
  boolean add(String node, ActorRef<Standby.Message> standby) {
    Replica known = replicas.get(node);
    if (known != null && known.standby.equals(standby)) {
      return false;
    }
    replicas.put(node, new Replica(standby));
    return true;
  }

  /** Ends the replicas on all nodes but these. */
  void retain(Collection<String> nodes) {
    for (String node : List.copyOf(replicas.keySet())) {
      if (!nodes.contains(node)) {
        replicas.remove(node);
        events.broadcast(new WorkerEvents.RemoveReplica(node));
      }
    }
  }

  /**
   * Begins snapshots of workers that replicas lack, a few at a time, sends them the state of pods, and has sent again
   * what was lost.
   */
  void feed(long now) {
    Set<Member> all = events.members();
    Set<String> reachable = new HashSet<>();
    for (Member member : members.all()) {
      if (member.health().reachability().isReachable()) {
        reachable.add(member.pod().name());
      }
    }
    replicas.forEach((node, replica) -> {
      feed(node, replica, all);
      if (!reachable.equals(replica.reachable)) {
        replica.reachable = Set.copyOf(reachable);
        replica.standby.tell(new Standby.ReachablePods(replica.reachable));
      }
    });
    if (!replicas.isEmpty() && now - checkedNanos > CHECK_NANOS) {
      checkedNanos = now;
      events.broadcast(WorkerEvents.CheckReplicas.INSTANCE);
    }
  }

  private void feed(String node, Replica replica, Set<Member> all) {
    replica.lags.keySet().retainAll(all);
    long cold = replica.lags.values().stream().filter(lag -> !lag.warm()).count();
    for (Member member : all) {
      if (cold < MAX_SNAPSHOTS && !replica.lags.containsKey(member)) {
        ReplicaLag lag = new ReplicaLag();
        replica.lags.put(member, lag);
        events.send(member, new WorkerEvents.AddReplica(node, members.view().incarnation(), replica.standby, lag));
        cold++;
      }
    }
  }

  /** Whether the replica on a node could take over. */
  boolean isWarm(String node) {
    Replica replica = replicas.get(node);
    return replica != null && replica.isWarm(events.members());
  }

  List<StandbyStatus> status(long now) {
    return replicas.entrySet().stream().map(replica -> status(replica.getKey(), replica.getValue(), now)).toList();
  }

  private StandbyStatus status(String node, Replica replica, long now) {
    long behind = 0;
    long lagMillis = 0;
    for (ReplicaLag lag : replica.lags.values()) {
      long unconfirmed = lag.behind();
      behind += unconfirmed;
      if (unconfirmed > 0) {
        lagMillis = Math.max(lagMillis, TimeUnit.NANOSECONDS.toMillis(now - lag.oldestNanos()));
      }
    }
    return new StandbyStatus(NodeNames.hostAndPort(node), isWarm(node), behind, lagMillis);
  }
}
