package io.kvasir.cell.home;

import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.standby.StandbyChoice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * The replicas of a cell, at its home: decides which nodes hold them, has them fed ({@link NodeReplicas}), and
 * publishes which of them could take over ({@link CellNodesPublication}). Before the cell moves as planned ({@link
 * Relocation}), a replica is made warm where it goes, and every node receives it.
 *
 * <p>The cell's actor's.
 */
final class Standbys {
  private final String cell;
  private final Members members;
  private final CellServices services;
  private final Replication replication;
  private final Logger log;
  private final NodeReplicas replicas;
  private final CellNodesPublication publication;
  private final List<Runnable> whenReady = new ArrayList<>();
  private Relocation relocation = new Relocation.Staying();
  private List<String> planned;

  /** What the last plan was made from, which are other objects when they change. */
  private @Nullable SortedMap<String, String> plannedFrom;

  private @Nullable Map<String, CellNodes> plannedBeside;

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
    this.services = services;
    this.replication = services.replication();
    this.log = log;
    this.replicas = new NodeReplicas(members, events);
    this.publication = new CellNodesPublication(cell, replication.keeper(), later);
    CellNodes before = replication.nodesByCell().of(cell);
    this.planned = before == null ? List.of() : before.standbys();
  }

  /** Begins to feed a replica on a node, or goes on with it; the node repeats the request. */
  void replicaRequested(String node, ActorRef<Standby.Message> standby) {
    if (planned.contains(node) && replicas.add(node, standby)) {
      log.info("cell {} is copied to {}", cell, node);
    }
  }

  /** The cell is wanted on another node: it becomes ready to move there. */
  void moveTo(String node) {
    if (services.settings().remote().standbys() > 0
        && !node.equals(replication.node())
        && !node.equals(relocation.target())) {
      log.info("cell {} is to move to {}", cell, node);
      long now = services.clock().nanos();
      relocation = relocation.requestedOn(node, now);
      check(now);
    }
  }

  /** A node is about to leave: {@code ready} runs when the cell may go, at once if another node is its home. */
  void prepareLeave(String node, Runnable ready) {
    if (node.equals(replication.node())) {
      relocation = relocation.leave();
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
    publication.withdraw(withdrawn);
  }

  /** Checks all standbys; called at every tick. */
  void check(long now) {
    SortedMap<String, String> nodes = replication.nodesByCell().nodes();
    if (isSettled(nodes, replication.nodesByCell().all())) {
      return;
    }
    relocation = relocation.check(nodes.keySet(), now);
    plan(nodes);
    replicas.retain(planned);
    replicas.feed(now);
    publish();
    if (planned.isEmpty() || publication.isMoveReceived()) {
      runReady();
    }
    members.view().standbys(replicas.status(now));
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
        replicas.isEmpty()
            && relocation.target() == null
            && whenReady.isEmpty()
            && nodes == plannedFrom
            && all == plannedBeside;
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
    String target = relocation.target();
    if (target != null && !chosen.contains(target)) {
      chosen.add(target);
    }
    planned = List.copyOf(chosen);
  }

  private void publish() {
    Set<String> warm = planned.stream().filter(replicas::isWarm).collect(Collectors.toUnmodifiableSet());
    String movingTo = relocation.destination(planned, warm);
    publication.publish(
        new CellNodes(replication.node(), planned, warm, movingTo, replication.peerPort()),
        () -> check(services.clock().nanos()));
  }
}
