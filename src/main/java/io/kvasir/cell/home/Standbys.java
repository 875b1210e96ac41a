package io.kvasir.cell.home;

import io.kvasir.cell.ClusterStatus.StandbyStatus;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.CellNodesKeeper;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.standby.ReplicaLag;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.standby.StandbyChoice;
import io.kvasir.cell.worker.Member;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * The replicas of a cell, at its home: decides which nodes hold them, has them fed, and publishes which of
 * them could take over. Before the cell moves as planned, a replica is made warm where it goes, and every node receives
 * it.
 *
 * <p>The cell's actor's.
 */
final class Standbys {
  /** Snapshots of workers sent to a replica at a time: each may have some ten megabytes. */
  private static final int MAX_SNAPSHOTS = 4;

  /** A move that has not come about after this long is forgotten. */
  private static final Duration MOVE_TIMEOUT = Duration.ofSeconds(60);

  /** Between the replicator's answer and the moment at which every node's threads read it. */
  private static final Duration PROPAGATION = Duration.ofMillis(250);

  private static final long CHECK_NANOS = Duration.ofSeconds(1).toNanos();

  private final String cell;
  private final Members members;
  private final EventActors events;
  private final CellServices services;
  private final Replication replication;
  private final BiConsumer<Duration, Runnable> scheduler;
  private final Logger log;
  private final Map<String, NodeReplica> replicas = new HashMap<>();
  private final List<Runnable> whenReady = new ArrayList<>();
  private boolean leaving;
  private List<String> planned;
  private @Nullable String target;
  private long targetNanos;
  private @Nullable CellNodes published;
  private boolean movePublished;
  private long checkedNanos;

  /** What the last plan was made from, which are other objects when they change. */
  private @Nullable SortedMap<String, String> plannedFrom;

  private @Nullable Map<String, CellNodes> plannedBeside;

  /** What a node's replica has been sent. */
  private static final class NodeReplica {
    private final ActorRef<Standby.Message> standby;
    private final Map<Member, ReplicaLag> lags = new HashMap<>();
    private Set<String> reachable = Set.of();

    NodeReplica(ActorRef<Standby.Message> standby) {
      this.standby = standby;
    }
  }

  /**
   * None yet, but for those that the home before had chosen.
   *
   * @param later runs something on a turn of the cell's actor, after a while; called by whichever thread
   */
  Standbys(
      String cell,
      Members members,
      EventActors events,
      CellServices services,
      BiConsumer<Duration, Runnable> later,
      Logger log) {
    this.cell = cell;
    this.members = members;
    this.events = events;
    this.services = services;
    this.replication = services.replication();
    this.scheduler = later;
    this.log = log;
    CellNodes before = replication.nodesByCell().of(cell);
    this.planned = before == null ? List.of() : before.standbys();
  }

  /** Begins to feed a replica on a node, or goes on with it; the node repeats the request. */
  void replicaRequested(String node, ActorRef<Standby.Message> standby) {
    NodeReplica copy = replicas.get(node);
    if (planned.contains(node) && (copy == null || !copy.standby.equals(standby))) {
      log.info("cell {} is copied to {}", cell, node);
      replicas.put(node, new NodeReplica(standby));
    }
  }

  /** The cell is wanted on another node: it becomes ready to move there. */
  void moveTo(String node) {
    if (services.settings().remote().standbys() > 0 && !node.equals(replication.node()) && !node.equals(target)) {
      log.info("cell {} is to move to {}", cell, node);
      target = node;
      targetNanos = services.clock().nanos();
      check(targetNanos);
    }
  }

  /** A node is about to leave: {@code ready} runs when the cell may go, at once if another node is its home. */
  void prepareLeave(String node, Runnable ready) {
    if (node.equals(replication.node())) {
      leaving = true;
      whenReady.add(ready);
      check(services.clock().nanos());
    } else {
      ready.run();
    }
  }

  /**
   * Ends all replicas, since the cell is to end; until the next check nothing is published of it.
   *
   * @param withdrawn runs on a turn of the cell's actor when no node requests a replica any more, which would start the
   *     cell again; once, however often this is called until then
   */
  void withdraw(Runnable withdrawn) {
    runReady();
    if (published != null) {
      published = null;
      replication.keeper().tell(
          new CellNodesKeeper.Remove(cell, () -> scheduler.accept(PROPAGATION, withdrawn)));
    }
  }

  /** Checks all standbys; called at every tick. */
  void check(long now) {
    SortedMap<String, String> nodes = replication.nodesByCell().nodes();
    if (isSettled(nodes, replication.nodesByCell().all())) {
      return;
    }
    if (target != null
        && (!nodes.containsKey(target) || (!leaving && now - targetNanos > MOVE_TIMEOUT.toNanos()))) {
      target = null;
    }
    plan(nodes);
    updateReplicas();
    if (!replicas.isEmpty() && now - checkedNanos > CHECK_NANOS) {
      checkedNanos = now;
      events.broadcast(WorkerEvents.CheckReplicas.INSTANCE);
    }
    publish();
    if (planned.isEmpty() || movePublished) {
      runReady();
    }
    members
        .view()
        .standbys(replicas.entrySet().stream().map(copy -> status(copy.getKey(), copy.getValue(), now)).toList());
  }

  private void runReady() {
    List<Runnable> ready = List.copyOf(whenReady);
    whenReady.clear();
    ready.forEach(Runnable::run);
  }

  /** Whether there is nothing to feed and the plan would be the same: always so on a single node. */
  @SuppressWarnings("ReferenceEquality") // They are replaced, never changed.
  private boolean isSettled(SortedMap<String, String> nodes, Map<String, CellNodes> all) {
    boolean settled =
        replicas.isEmpty() && target == null && whenReady.isEmpty() && nodes == plannedFrom && all == plannedBeside;
    plannedFrom = nodes;
    plannedBeside = all;
    return settled;
  }

  private void plan(SortedMap<String, String> nodes) {
    int count = services.settings().remote().standbys();
    List<String> chosen =
        new ArrayList<>(
            StandbyChoice.of(
                cell,
                replication.node(),
                planned.stream().limit(count).toList(),
                replication.nodesByCell().all(),
                nodes,
                count));
    if (target != null && !chosen.contains(target)) {
      chosen.add(target);
    }
    for (String node : List.copyOf(replicas.keySet())) {
      if (!chosen.contains(node)) {
        replicas.remove(node);
        events.broadcast(new WorkerEvents.RemoveReplica(node));
      }
    }
    planned = List.copyOf(chosen);
  }

  /** Begins snapshots of workers that replicas lack, a few at a time, and sends them the state of pods. */
  private void updateReplicas() {
    Set<Member> all = events.members();
    Set<String> well = new HashSet<>();
    for (Member member : members.all()) {
      if (member.health().reachability().isReachable()) {
        well.add(member.pod().name());
      }
    }
    replicas.forEach((node, copy) -> {
      copy.lags.keySet().retainAll(all);
      long cold = copy.lags.values().stream().filter(lag -> !lag.warm()).count();
      for (Member member : all) {
        if (cold < MAX_SNAPSHOTS && !copy.lags.containsKey(member)) {
          ReplicaLag lag = new ReplicaLag();
          copy.lags.put(member, lag);
          events.send(member, new WorkerEvents.AddReplica(node, members.view().incarnation(), copy.standby, lag));
          cold++;
        }
      }
      if (!well.equals(copy.reachable)) {
        copy.reachable = Set.copyOf(well);
        copy.standby.tell(new Standby.ReachablePods(copy.reachable));
      }
    });
  }

  private boolean warm(String node) {
    NodeReplica copy = replicas.get(node);
    return copy != null
        && copy.lags.keySet().containsAll(events.members())
        && copy.lags.values().stream().allMatch(ReplicaLag::warm);
  }

  private void publish() {
    Set<String> warm = new HashSet<>();
    for (String node : planned) {
      if (warm(node)) {
        warm.add(node);
      }
    }
    String goal = target;
    if (goal == null && leaving) {
      goal = planned.stream().filter(warm::contains).findFirst().orElse(null);
    }
    String movingTo = goal != null && warm.contains(goal) ? goal : null;
    CellNodes now = new CellNodes(replication.node(), planned, Set.copyOf(warm), movingTo, replication.peerPort());
    if (!now.equals(published)) {
      published = now;
      movePublished = false;
      Runnable known = movingTo == null ? () -> {} : () -> onPublished(now);
      replication.keeper().tell(new CellNodesKeeper.Put(cell, now, () -> scheduler.accept(PROPAGATION, known)));
    }
  }

  private void onPublished(CellNodes cellNodes) {
    if (cellNodes.equals(published)) {
      movePublished = true;
      check(services.clock().nanos());
    }
  }

  private StandbyStatus status(String node, NodeReplica copy, long now) {
    long behind = 0;
    long lagMillis = 0;
    for (ReplicaLag lag : copy.lags.values()) {
      long events = lag.behind();
      behind += events;
      if (events > 0) {
        lagMillis = Math.max(lagMillis, TimeUnit.NANOSECONDS.toMillis(now - lag.oldestNanos()));
      }
    }
    return new StandbyStatus(NodeNames.hostAndPort(node), warm(node), behind, lagMillis);
  }
}
