package io.kvasir.cell.client;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.EventSources;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.cell.directory.CellNodesKeeper;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Directory;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.home.Cell;
import io.kvasir.cell.home.CellServices;
import io.kvasir.cell.home.Replication;
import io.kvasir.cell.standby.CellReplicas;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.DecisionRecorder;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.jspecify.annotations.Nullable;

/**
 * Cells of a fixed set of pods, whose home is this node and of which no other node knows: for requests that are no
 * client's. A model has one cell. Thread-safe.
 */
public final class LocalCells implements Cells, AutoCloseable {
  private final Roster roster;
  private final CellViews views = new CellViews();
  private final RosterWorkers workers;
  private final ActorRef<End> cells;

  private enum End { END }

  /**
   * Starts the cells.
   *
   * @param name of the actor above them
   * @param settings those of cells without standbys
   * @param metrics where these cells' are registered: not with those of others
   */
  public LocalCells(
      ActorSystem<?> system,
      String name,
      CellSettings settings,
      Set<PodSpec> pods,
      ProfileSet profiles,
      EventSources eventSources,
      HealthProbe probe,
      Metrics metrics) {
    this.roster =
        new Roster(
            pods.stream().collect(Collectors.toMap(PodSpec::name, pod -> new PodEntry(pod, PodSource.CONFIG))));
    CurrentRoster current = new CurrentRoster(roster);
    this.workers = new RosterWorkers(current, views, new CellReports());
    Function<ActorContext<End>, CellServices> services =
        context ->
            new CellServices(
                settings,
                views,
                context.spawn(directory(), "directory"),
                profiles,
                eventSources,
                probe,
                RetentionRelease.NONE,
                new CellMetrics(metrics),
                DecisionLog.off(metrics),
                ForkJoinPool.commonPool(),
                NanoClock.SYSTEM,
                current,
                new Replication(
                    name, 0, new NodesByCell(), new CellReplicas(),
                    context.spawn(Behaviors.<CellNodesKeeper.Message>ignore(), "keeper"),
                    cell -> {
                      throw new IllegalStateException("cell " + cell + " does not move");
                    }),
                (_, _, _, _) -> {
                  throw new IllegalStateException("no other node has requests here");
                });
    this.cells = system.systemActorOf(above(services), name, Props.empty());
  }

  private Behavior<End> above(Function<ActorContext<End>, CellServices> services) {
    return Behaviors.setup(
        context -> {
          CellServices shared = services.apply(context);
          for (String cell : roster.cells()) {
            // Its pods stay.
            context.spawnAnonymous(Cell.create(cell, shared, _ -> {}));
          }
          return Behaviors.receiveMessage(_ -> Behaviors.stopped());
        });
  }

  private Behavior<Directory.Message> directory() {
    return Behaviors.receiveMessage(
        message -> {
          if (message instanceof Directory.Subscribe(ActorRef<Roster> subscriber)) {
            subscriber.tell(roster);
          }
          return Behaviors.same();
        });
  }

  @Override
  public Decision decide(DecisionRequest request) {
    CellView view = view(request.model());
    return view == null ? noWorker(request) : view.decide(request);
  }

  @Override
  public DecisionRecord explain(DecisionRequest request) {
    CellView view = view(request.model());
    return view == null
        ? DecisionRecorder.withoutCandidates("", request, noWorker(request))
        : view.explain(request);
  }

  private @Nullable CellView view(String model) {
    Map.Entry<String, Integer> cell = roster.cellsOf(model).firstEntry();
    return cell == null ? null : views.of(cell.getKey());
  }

  private static Decision.NoWorker noWorker(DecisionRequest request) {
    return new Decision.NoWorker(
        Decision.NoWorkerReason.UNKNOWN_MODEL, "no worker serves the model '" + request.model() + "' here");
  }

  @Override
  public List<WorkerSummary> workers() {
    return workers.all();
  }

  @Override
  public List<WorkerSummary> workers(String model) {
    return workers.serving(model);
  }

  @Override
  public Set<String> workerIds() {
    return roster.workerIds();
  }

  @Override
  public Set<String> models() {
    return roster.models();
  }

  /** Stops the cells. */
  @Override
  public void close() {
    cells.tell(End.END);
  }
}
