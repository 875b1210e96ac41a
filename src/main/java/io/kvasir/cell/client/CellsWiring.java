package io.kvasir.cell.client;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.EventSources;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.directory.CellMoves;
import io.kvasir.cell.directory.CellNodesKeeper;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Directory;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.home.CellServices;
import io.kvasir.cell.home.Replication;
import io.kvasir.cell.home.WorkerEvents;
import io.kvasir.cell.standby.CellReplica;
import io.kvasir.cell.standby.CellReplicas;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.standby.WarmAllocation;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.WorkerCounters;
import io.kvasir.locations.Sessions;
import io.kvasir.peer.PeerConnections;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.Done;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.cluster.sharding.typed.ClusterShardingSettings;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;
import org.apache.pekko.cluster.typed.Cluster;

/** Starts a node's part of the cells: its directory, the cells and standbys it may become home of, and its clients. */
public final class CellsWiring {
  /** How long cells may take to get ready on other nodes; below what the platform allows the phase. */
  private static final Duration LEAVE_TIMEOUT = Duration.ofSeconds(10);

  /** What was counted of a worker that is gone is kept for one to two of these, for a last scrape. */
  private static final Duration STALE_AFTER = Duration.ofMinutes(10);

  private final ActorSystem<?> system;
  private final CellSettings settings;
  private final ClusterSharding sharding;
  private final String self;
  private final CellViews views = new CellViews();
  private final CurrentRoster roster = new CurrentRoster();
  private final NodesByCell nodesByCell = new NodesByCell();
  private final CellMoves moves = new CellMoves(InstantSource.system());
  private final CellReplicas replicas = new CellReplicas();
  private final CellReports reports = new CellReports();

  private CellsWiring(ActorSystem<?> system, CellSettings settings) {
    this.system = system;
    this.settings = settings;
    this.sharding = ClusterSharding.get(system);
    this.self = NodeNames.of(Cluster.get(system).selfMember().uniqueAddress());
  }

  /**
   * Starts a node's part of the cells. Once for each actor system.
   *
   * @param system a member of the cluster, or about to become one
   * @param partitionPolicy what becomes of requests when the cluster has taken this node out
   * @param pods the pods of this node's configuration
   * @param probe probes the health of pods
   * @param releases tells engines what they need not retain
   * @param metrics where the room's are registered
   * @param peers connections to other nodes and from them; closed when the system has ended
   * @param decisions where sampled decisions of cells whose home is this node are recorded; not closed here
   * @param clock measures time
   */
  public static NodeCells start(
      ActorSystem<?> system,
      CellSettings settings,
      PartitionPolicy partitionPolicy,
      Set<PodSpec> pods,
      ProfileSet profiles,
      EventSources eventSources,
      HealthProbe probe,
      RetentionRelease releases,
      Metrics metrics,
      PeerConnections peers,
      DecisionLog decisions,
      NanoClock clock) {
    CellsWiring wiring = new CellsWiring(system, settings);
    CellMetrics cellMetrics = new CellMetrics(metrics);
    PeerDecisions peerDecisions = new PeerDecisions(system, wiring.self, peers, wiring.nodesByCell);
    RemoteCells remote =
        new RemoteCells(system, wiring.self, settings, peerDecisions, wiring.nodesByCell, cellMetrics, clock);
    ActorRef<Directory.Message> directory = wiring.startDirectory();
    wiring.startCells(
        new CellServices(
            settings,
            wiring.views,
            directory,
            profiles,
            eventSources,
            probe,
            releases,
            cellMetrics,
            decisions,
            system.dispatchers().lookup(DispatcherSelector.fromConfig("kvasir-background-dispatcher")),
            clock,
            wiring.roster,
            new Replication(
                wiring.self, peers.port(), wiring.nodesByCell, wiring.replicas, wiring.startKeeper(), remote::of),
            new HolderMessages(system)));
    system.systemActorOf(
        PressureBroadcast.create(wiring.views, wiring.roster, wiring.reports, clock),
        "kvasir-cell-pressure",
        Props.empty());
    wiring.removeStale(cellMetrics.workers());
    HolderMessages.receive(system, wiring.self, remote);
    peerDecisions.serve(wiring.views);
    var _ = system.getWhenTerminated().thenRun(peers::close);
    directory.tell(new Directory.Announce(pods));
    CoordinatedShutdown.get(system)
        .addTask(CoordinatedShutdown.PhaseBeforeClusterShutdown(), "kvasir-cells", wiring::handOverCells);
    ClusterCells cells = wiring.cells(
        partitionPolicy, remote, new SessionWorkers(Sessions.start(system, metrics)), cellMetrics, clock);
    // While the front doors drain, which would wait for them.
    CoordinatedShutdown.get(system)
        .addTask(CoordinatedShutdown.PhaseServiceRequestsDone(), "kvasir-first-workers", () -> {
          cells.stopWaiting();
          return CompletableFuture.completedFuture(Done.getInstance());
        });
    return new NodeCells(
        cells,
        new ClusterPods(system, wiring.roster, directory),
        new ClusterDescription(
            system, wiring.views, wiring.roster, wiring.reports, wiring.moves,
            settings.remote().decisionTimeout(), clock),
        wiring.views.learntEngines());
  }

  private ClusterCells cells(
      PartitionPolicy partitionPolicy,
      RemoteCells remote,
      SessionWorkers sessions,
      CellMetrics metrics,
      NanoClock clock) {
    return new ClusterCells(
        partitionPolicy,
        views,
        roster,
        reports,
        remote,
        sessions,
        metrics,
        settings.fromZero(),
        clock);
  }

  private ActorRef<Directory.Message> startDirectory() {
    return system.systemActorOf(
        Directory.create(roster, cell -> tell(cell, new Cell.Start()), settings.index().maxWorkers()),
        "kvasir-directory",
        Props.empty());
  }

  private ActorRef<CellNodesKeeper.Message> startKeeper() {
    return system.systemActorOf(
        CellNodesKeeper.create(nodesByCell, moves, WorkerEvents.DISPATCHER, this::standby),
        "kvasir-cell-nodes",
        Props.empty());
  }

  private Behavior<Standby.Message> standby(String cell, String node) {
    return Standby.create(
        cell,
        new CellReplica(settings.index().budgetBytes()),
        replicas,
        node,
        standby -> tell(cell, new Cell.ReplicaRequested(node, standby)));
  }

  private void startCells(CellServices services) {
    sharding.init(
        Entity.of(
                Cell.KEY,
                context ->
                    Cell.create(
                        context.getEntityId(),
                        services,
                        cell -> context.getShard().tell(new ClusterSharding.Passivate<>(cell))))
            .withAllocationStrategy(
                new WarmAllocation(
                    sharding.defaultShardAllocationStrategy(ClusterShardingSettings.create(system)),
                    nodesByCell,
                    (cell, node) -> tell(cell, new Cell.MoveTo(node)),
                    services.clock()))
            .withMessageExtractor(new OneShardPerCell()));
  }

  private void removeStale(WorkerCounters counters) {
    system
        .scheduler()
        .scheduleWithFixedDelay(
            STALE_AFTER,
            STALE_AFTER,
            () -> counters.removeStale(roster.get().workerIds(), roster.get().podNames()),
            system.executionContext());
  }

  private void tell(String cell, Cell.Message message) {
    sharding.entityRefFor(Cell.KEY, cell).tell(message);
  }

  /**
   * Prepares the next homes of this node's cells. A cell is moved even if its next home is not ready in time. The
   * platform moves it at once when another node has this one leave and the shards' coordinator is here, which starts
   * elsewhere only when this node has left.
   */
  private CompletionStage<Done> handOverCells() {
    List<CompletableFuture<?>> ready = new ArrayList<>();
    views.all().forEach((cell, view) ->
        ready.add(
            sharding
                .entityRefFor(Cell.KEY, cell)
                .<Cell.LeaveReady>ask(replyTo -> new Cell.Leave(self, replyTo), LEAVE_TIMEOUT)
                .handle((_, late) -> {
                  if (late != null && views.of(cell) != null) {
                    system.log().warn("cell {} moves before its next home is ready: {}", cell, late.getMessage());
                  }
                  return Done.getInstance();
                })
                .applyToEither(view.handedOver(), done -> done)
                .toCompletableFuture()));
    return CompletableFuture.allOf(ready.toArray(CompletableFuture[]::new)).thenApply(_ -> Done.getInstance());
  }
}
