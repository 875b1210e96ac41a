package io.kvasir.cell.standby;

import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.sharding.ShardCoordinator.ActorSystemDependentAllocationStrategy;
import org.apache.pekko.cluster.sharding.ShardCoordinator.ShardAllocationStrategy;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.IndexedSeq;
import scala.concurrent.ExecutionContext;
import scala.concurrent.Future;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Gives a cell that has lost its home to a node with a warm copy of it, and moves cells for balance only when a copy is
 * warm where they go. Otherwise as the strategy beneath. Called by the coordinator, one call at a time.
 */
public final class WarmAllocation implements ActorSystemDependentAllocationStrategy {
  /** A cell that could not be copied in this time moves all the same. */
  private static final long WARMUP_TIMEOUT_NANOS = Duration.ofSeconds(60).toNanos();

  private final ShardAllocationStrategy delegate;
  private final NodesByCell nodesByCell;
  private final BiConsumer<String, String> prepare;
  private final NanoClock clock;
  private final Map<String, Long> requestedNanos = new HashMap<>();
  private @Nullable Address self;

  /**
   * A strategy above another.
   *
   * @param prepare has a cell copied to a node, to which it is to move
   */
  public WarmAllocation(
      ShardAllocationStrategy beneath,
      NodesByCell nodesByCell,
      BiConsumer<String, String> prepare,
      NanoClock clock) {
    this.delegate = beneath;
    this.nodesByCell = nodesByCell;
    this.prepare = prepare;
    this.clock = clock;
  }

  @Override
  public void start(ActorSystem system) {
    self = org.apache.pekko.cluster.Cluster.get(system).selfAddress();
    if (delegate instanceof ActorSystemDependentAllocationStrategy dependent) {
      dependent.start(system);
    }
  }

  @Override
  public Future<ActorRef> allocateShard(
      ActorRef requester, String cell, scala.collection.immutable.Map<ActorRef, IndexedSeq<String>> current) {
    ActorRef standby = standby(cell, CollectionConverters.asJava(current).keySet());
    return standby == null ? delegate.allocateShard(requester, cell, current) : Future.successful(standby);
  }

  private @Nullable ActorRef standby(String cell, Set<ActorRef> regions) {
    CellNodes cellNodes = nodesByCell.of(cell);
    if (cellNodes == null) {
      return null;
    }
    List<String> nodes = new ArrayList<>();
    if (cellNodes.movingTo() != null) {
      nodes.add(cellNodes.movingTo());
    }
    cellNodes.standbys().stream().filter(cellNodes.warm()::contains).forEach(nodes::add);
    for (String node : nodes) {
      for (ActorRef region : regions) {
        if (isOn(region, node)) {
          return region;
        }
      }
    }
    return null;
  }

  @Override
  public Future<scala.collection.immutable.Set<String>> rebalance(
      scala.collection.immutable.Map<ActorRef, IndexedSeq<String>> current,
      scala.collection.immutable.Set<String> inProgress) {
    Map<ActorRef, IndexedSeq<String>> regions = CollectionConverters.asJava(current);
    return delegate
        .rebalance(current, inProgress)
        .map(moves -> ready(CollectionConverters.asJava(moves), regions), ExecutionContext.parasitic$.MODULE$);
  }

  /** Those that may move now; the others are prepared for it. */
  private scala.collection.immutable.Set<String> ready(
      Set<String> moves, Map<ActorRef, IndexedSeq<String>> regions) {
    long now = clock.nanos();
    requestedNanos.keySet().retainAll(moves);
    Set<String> ready = new HashSet<>();
    Map<ActorRef, Integer> load = new HashMap<>();
    regions.forEach((region, cells) -> load.put(region, cells.size()));
    for (String cell : moves.stream().sorted().toList()) {
      CellNodes cellNodes = nodesByCell.of(cell);
      long requestedAt = requestedNanos.computeIfAbsent(cell, _ -> now);
      if (cellNodes == null || now - requestedAt > WARMUP_TIMEOUT_NANOS || isReady(cellNodes, regions.keySet())) {
        requestedNanos.remove(cell);
        ready.add(cell);
        continue;
      }
      load.keySet().stream()
          .filter(region -> !isOn(region, cellNodes.home()))
          .min(Comparator.comparing(load::get))
          .ifPresent(to -> {
            load.merge(to, 1, Integer::sum);
            node(to).ifPresent(name -> prepare.accept(cell, name));
          });
    }
    return CollectionConverters.asScala(ready).toSet();
  }

  private boolean isReady(CellNodes cellNodes, Set<ActorRef> regions) {
    String to = cellNodes.movingTo();
    return to != null && regions.stream().anyMatch(region -> isOn(region, to));
  }

  private Optional<String> node(ActorRef region) {
    return nodesByCell.nodes().keySet().stream().filter(node -> isOn(region, node)).findFirst();
  }

  private boolean isOn(ActorRef region, String node) {
    Address address = region.path().address();
    Address full = address.hasLocalScope() ? Objects.requireNonNull(self) : address;
    return NodeNames.isAt(full, node);
  }
}
