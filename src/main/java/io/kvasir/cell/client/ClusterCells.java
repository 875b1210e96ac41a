package io.kvasir.cell.client;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Cells;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.EventSources;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.CellNodesKeeper;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Directory;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.home.CellServices;
import io.kvasir.cell.home.Replication;
import io.kvasir.cell.home.WorkerEvents;
import io.kvasir.cell.standby.CellReplica;
import io.kvasir.cell.standby.CellReplicas;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.standby.WarmAllocation;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.DecisionRecorder;
import io.kvasir.peer.PeerConnections;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.Done;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.cluster.sharding.typed.ClusterShardingSettings;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityRef;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.japi.function.Function;
import org.jspecify.annotations.Nullable;

/** The node's way to every cell, over Pekko Cluster Sharding. One per actor system. */
public final class ClusterCells implements Cells {
  private static final Duration ADMIN_TIMEOUT = Duration.ofSeconds(5);

  /** Below what the platform allows the phase. */
  private static final Duration LEAVE_TIMEOUT = Duration.ofSeconds(10);

  private final ActorSystem<?> system;
  private final Cluster cluster;
  private final CellSettings settings;
  private final PartitionPolicy partitionPolicy;
  private final CellMetrics metrics;
  private final CellViews views = new CellViews();
  private final CurrentRoster roster = new CurrentRoster();
  private final NodesByCell nodesByCell = new NodesByCell();
  private final PeerDecisions peerDecisions;
  private final ClusterSharding sharding;
  private final ActorRef<Directory.Message> directory;
  private final String self;
  /** Ways to cells that are not at home here, or were not. */
  private final Map<String, RemoteCell> remote = new ConcurrentHashMap<>();

  private final CellReports reports = new CellReports();
  private final CellChoices choices;
  private final RosterWorkers rosterWorkers;
  private final ClusterDescription description;
  /** What nodes tell each other of requests goes together while it is this young: no load looks old for it. */
  private final Executor delayed =
      CompletableFuture.delayedExecutor(2, TimeUnit.MILLISECONDS, task -> Thread.ofVirtual().start(task));

  private final Fallback fallback = new Fallback(NanoClock.SYSTEM);

  /**
   * Starts this node's directory and makes it a home for cells.
   *
   * @param system a member of the cluster, or about to become one
   * @param minority what becomes of requests when the cluster has taken this node out
   * @param pods the pods of this node's configuration
   * @param metrics where the room's are registered
   * @param lines to other nodes and from them; closed when the system has ended
   * @param decisions where sampled decisions of cells at home here are recorded; stays its owner's to close
   */
  public ClusterCells(
      ActorSystem<?> system,
      CellSettings settings,
      PartitionPolicy minority,
      Set<PodSpec> pods,
      ProfileSet profiles,
      EventSources eventSources,
      HealthProbe probe,
      Metrics metrics,
      PeerConnections lines,
      DecisionLog decisions) {
    this.system = system;
    this.cluster = Cluster.get(system);
    this.settings = settings;
    this.partitionPolicy = minority;
    this.metrics = new CellMetrics(metrics);
    this.choices = new CellChoices(reports, this.metrics);
    this.rosterWorkers = new RosterWorkers(roster, views, reports);
    this.sharding = ClusterSharding.get(system);
    this.description = new ClusterDescription(system, views, roster, reports, settings.decisionTimeout());
    this.self = NodeNames.of(cluster.selfMember().uniqueAddress());
    this.peerDecisions = new PeerDecisions(system, self, lines, nodesByCell);
    this.directory =
        system.systemActorOf(
            Directory.create(roster, this::startCell, settings.maxWorkers()), "kvasir-directory", Props.empty());
    CellReplicas copies = new CellReplicas();
    ActorRef<CellNodesKeeper.Message> keeper =
        system.systemActorOf(
            CellNodesKeeper.create(
                nodesByCell,
                WorkerEvents.DISPATCHER,
                (cell, node) ->
                    Standby.create(
                        cell,
                        new CellReplica(settings.indexBudgetBytes()),
                        copies,
                        node,
                        standby ->
                            sharding.entityRefFor(Cell.KEY, cell).tell(new Cell.ReplicaRequested(node, standby)))),
            "kvasir-cell-nodes",
            Props.empty());
    CellServices services =
        new CellServices(
            settings,
            views,
            directory,
            profiles,
            eventSources,
            probe,
            this.metrics,
            decisions,
            system.dispatchers().lookup(DispatcherSelector.fromConfig("kvasir-background-dispatcher")),
            NanoClock.SYSTEM,
            roster,
            new Replication(self, lines.port(), nodesByCell, copies, keeper, this::remote));
    sharding.init(
        Entity.of(Cell.KEY, context -> Cell.create(context.getEntityId(), services))
            .withAllocationStrategy(
                new WarmAllocation(
                    sharding.defaultShardAllocationStrategy(ClusterShardingSettings.create(system)),
                    nodesByCell,
                    (cell, node) -> sharding.entityRefFor(Cell.KEY, cell).tell(new Cell.MoveTo(node)),
                    NanoClock.SYSTEM))
            .withMessageExtractor(new OneShardPerCell()));
    system.systemActorOf(
        PressureBroadcast.create(views, roster, reports, NanoClock.SYSTEM), "kvasir-cell-pressure", Props.empty());
    this.peerDecisions.serve(views);
    var _ = system.getWhenTerminated().thenRun(lines::close);
    directory.tell(new Directory.Announce(pods));
    CoordinatedShutdown.get(system)
        .addTask(CoordinatedShutdown.PhaseBeforeClusterShutdown(), "kvasir-cells", this::handOverCells);
  }

  @Override
  public Decision decide(DecisionRequest request) {
    Roster now = roster.get();
    CellChoice choice = choices.of(now, request.model());
    if (choice == null) {
      return unknownModel(request);
    }
    String joined = cellOfOtherSteps(now, request);
    return joined == null
        ? choice.decide(request, NanoClock.SYSTEM.nanos(), cell -> decide(now, cell, request))
        : decide(now, joined, request);
  }

  /** The workers of a plan's other steps can only be joined by one of their own cell. */
  private static @Nullable String cellOfOtherSteps(Roster roster, DecisionRequest request) {
    DecisionRequest.StepReplacement again = request.replacement();
    if (again != null) {
      for (String worker : again.placed().values()) {
        String cell = roster.cellOfWorker(worker);
        if (cell != null) {
          return cell;
        }
      }
    }
    return null;
  }

  private Decision decide(Roster now, String cell, DecisionRequest request) {
    CellView view = views.of(cell);
    Decision decision = view != null ? view.decide(request) : remote(cell).decide(request);
    metrics.decided(request, decision, view != null);
    if (decision instanceof Decision.NoWorker(Decision.NoWorkerReason why, String detail)
        && why == Decision.NoWorkerReason.NO_HOME
        && (partitionPolicy == PartitionPolicy.SERVE || !cluster.isTerminated())) {
      Decision instead = fallback.decide(now, cell, request, detail, remote(cell)::open);
      metrics.fellBack(request, instead);
      return instead;
    }
    RemoteCell before = view == null ? null : remote.get(cell);
    if (view != null && before != null) {
      before.decidedBy(view.incarnation());
    }
    return decision;
  }

  @Override
  public DecisionRecord explain(DecisionRequest request) {
    CellChoice choice = choices.of(roster.get(), request.model());
    return choice == null
        ? DecisionRecorder.withoutCandidates("", request, unknownModel(request))
        : choice.explain(request, NanoClock.SYSTEM.nanos(), cell -> explain(cell, request));
  }

  private DecisionRecord explain(String cell, DecisionRequest request) {
    CellView view = views.of(cell);
    if (view != null) {
      return view.explain(request);
    }
    if (cluster.isTerminated()) {
      return DecisionRecorder.withoutCandidates(cell, request, RemoteCell.cutOff());
    }
    try {
      CompletionStage<Cell.Explained> answer =
          sharding
              .entityRefFor(Cell.KEY, cell)
              .ask(replyTo -> new Cell.Explain(request, replyTo), settings.decisionTimeout());
      return answer.toCompletableFuture().join().record();
    } catch (CompletionException late) {
      return DecisionRecorder.withoutCandidates(cell, request, RemoteCell.noHome());
    }
  }

  private static Decision.NoWorker unknownModel(DecisionRequest request) {
    return new Decision.NoWorker(
        Decision.NoWorkerReason.UNKNOWN_MODEL, "no worker serves the model '" + request.model() + "'");
  }

  private RemoteCell remote(String cell) {
    return remote.computeIfAbsent(cell, this::createRemote);
  }

  private RemoteCell createRemote(String cell) {
    EntityRef<Cell.Message> home = sharding.entityRefFor(Cell.KEY, cell);
    return new RemoteCell(
        new CellHomeClient(home, self, peerDecisions, settings.decisionTimeout(), delayed, metrics, NanoClock.SYSTEM),
        new RemoteProgress(home::tell, NanoClock.SYSTEM),
        settings.moveTimeout(),
        cluster::isTerminated,
        () -> nodesByCell.of(cell),
        NanoClock.SYSTEM);
  }

  @Override
  public List<WorkerStatus> describeWorkers() {
    return description.workers();
  }

  @Override
  public ClusterStatus describeCluster() {
    return description.status();
  }

  @Override
  public List<WorkerSummary> workers() {
    return rosterWorkers.all();
  }

  @Override
  public List<WorkerSummary> workers(String model) {
    return rosterWorkers.serving(model);
  }

  @Override
  public Set<String> workerIds() {
    return roster.get().workerIds();
  }

  @Override
  public Set<String> models() {
    return roster.get().models();
  }

  @Override
  public void add(PodSpec pod) {
    String refused = ask(replyTo -> new Directory.Add(pod, replyTo));
    if (!refused.isEmpty()) {
      throw new IllegalArgumentException(refused);
    }
  }

  @Override
  public List<String> declare(PodSource source, List<DiscoveredPod> pods) {
    return this.<Directory.DeclareReply>ask(replyTo -> new Directory.Declare(source, pods, replyTo)).problems();
  }

  @Override
  public boolean drain(String pod) {
    return this.<Boolean>ask(replyTo -> new Directory.Drain(pod, replyTo));
  }

  @Override
  public UndrainResult undrain(String pod) {
    return this.<UndrainResult>ask(replyTo -> new Directory.Undrain(pod, replyTo));
  }

  @Override
  public boolean remove(String pod) {
    return this.<Boolean>ask(replyTo -> new Directory.Remove(pod, replyTo));
  }

  /** Whether a cell is at home on this node. */
  boolean isHome(String cell) {
    return views.of(cell) != null;
  }

  /** Where a cell is and has copies, as this node knows; null before its first home has told. */
  @Nullable CellNodes nodesOf(String cell) {
    return nodesByCell.of(cell);
  }

  private <T> T ask(Function<ActorRef<T>, Directory.Message> message) {
    return AskPattern.<Directory.Message, T>ask(directory, message, ADMIN_TIMEOUT, system.scheduler())
        .toCompletableFuture()
        .join();
  }

  /** Makes cells that are at home here ready to go on elsewhere; what is not ready in time goes all the same. */
  private CompletionStage<Done> handOverCells() {
    List<CompletableFuture<?>> ready = new ArrayList<>();
    for (String cell : views.all().keySet()) {
      ready.add(
          sharding
              .entityRefFor(Cell.KEY, cell)
              .<Cell.LeaveReady>ask(replyTo -> new Cell.Leave(self, replyTo), LEAVE_TIMEOUT)
              .handle((_, late) -> {
                if (late != null) {
                  system.log().warn("cell {} leaves before it is ready elsewhere: {}", cell, late.getMessage());
                }
                return Done.getInstance();
              })
              .toCompletableFuture());
    }
    return CompletableFuture.allOf(ready.toArray(CompletableFuture[]::new)).thenApply(_ -> Done.getInstance());
  }

  private void startCell(String cell) {
    sharding.entityRefFor(Cell.KEY, cell).tell(new Cell.Start());
  }
}
