package io.kvasir.cell.client;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityRef;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;

/** This node's clients of cells whose home is another node, or was when a request came for them. Thread-safe. */
final class RemoteCells {
  /** Several declarations may be lost before a lease ends. */
  private static final int DECLARATIONS_PER_LEASE = 8;

  /** A block's hash in a message. */
  private static final int HASH_BYTES = 9;

  /** What else a request for a decision may take in a message, generously. */
  private static final int OTHER_PARTS_BYTES = 32 << 10;

  private final Cluster cluster;
  private final ClusterSharding sharding;
  private final String self;
  private final CellSettings settings;
  private final PeerDecisions peerDecisions;
  private final NodesByCell nodesByCell;
  private final CellMetrics metrics;
  private final NanoClock clock;
  private final Map<String, RemoteCell> cells = new ConcurrentHashMap<>();
  private final int maxClusterBlocks;

  /** Reservation events go together while they are this young: no load looks old for it. */
  private final Executor delayed =
      CompletableFuture.delayedExecutor(2, TimeUnit.MILLISECONDS, task -> Thread.ofVirtual().start(task));

  RemoteCells(
      ActorSystem<?> system,
      String self,
      CellSettings settings,
      PeerDecisions peerDecisions,
      NodesByCell nodesByCell,
      CellMetrics metrics,
      NanoClock clock) {
    this.cluster = Cluster.get(system);
    this.sharding = ClusterSharding.get(system);
    this.self = self;
    this.settings = settings;
    this.peerDecisions = peerDecisions;
    this.nodesByCell = nodesByCell;
    this.metrics = metrics;
    this.clock = clock;
    long frame = system.settings().config().getBytes("pekko.remote.artery.advanced.maximum-frame-size");
    this.maxClusterBlocks = (int) Math.max(0, (frame - OTHER_PARTS_BYTES) / HASH_BYTES);
    Duration interval = settings.remote().reservationLease().dividedBy(DECLARATIONS_PER_LEASE);
    var _ = system.scheduler().scheduleWithFixedDelay(
        interval, interval, () -> Thread.ofVirtual().start(this::declareOpen), system.executionContext());
  }

  private void declareOpen() {
    cells.values().forEach(RemoteCell::declareOpen);
  }

  /** The client of a cell, always the same one. */
  RemoteCell of(String cell) {
    RemoteCell known = cells.get(cell);
    return known == null ? cells.computeIfAbsent(cell, this::create) : known;
  }

  /** The client of a cell; null when there has been no request for it while its home was not this node. */
  @Nullable RemoteCell ifKnown(String cell) {
    return cells.get(cell);
  }

  /** Whether the cluster has taken this node out, so that no home can be reached. */
  boolean isCutOff() {
    return cluster.isTerminated();
  }

  /** Where a cell has its home and its standbys, as this node knows; null before its first home has published it. */
  @Nullable CellNodes nodesOf(String cell) {
    return nodesByCell.of(cell);
  }

  private RemoteCell create(String cell) {
    EntityRef<Cell.Message> home = sharding.entityRefFor(Cell.KEY, cell);
    return new RemoteCell(
        new CellHomeClient(home, self, peerDecisions, settings.remote().decisionTimeout(), maxClusterBlocks, delayed,
            metrics, clock),
        new RemoteProgress(home::tell, clock),
        settings.remote().moveTimeout(),
        this::isCutOff,
        () -> nodesByCell.of(cell),
        clock);
  }
}
