package io.kvasir.execution;

import io.kvasir.admission.ClassStatus;
import io.kvasir.admission.ModelBacklog;
import io.kvasir.admission.ServiceClass;
import io.kvasir.cell.CellMove;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.HealthChange;
import io.kvasir.cell.HeldPrefixes;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.index.Chain;
import io.kvasir.programs.GuardStatus;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A fleet of one node, whose one cell has the workers there are. */
public final class FakeFleet implements FleetDescription {
  public final List<HealthChange> healthChanges = new CopyOnWriteArrayList<>();
  public final List<CellMove> moves = new CopyOnWriteArrayList<>();
  /** What prompts cost on every worker. */
  public volatile WorkerStatus.@Nullable PrefillCost cost;
  /** What is held of any chains. */
  public volatile HeldPrefixes held = new HeldPrefixes(List.of(), List.of());
  /** The chains that were asked about last. */
  public volatile List<Chain> askedChains = List.of();
  /** How often the homes of cells were asked to describe their workers. */
  public final AtomicInteger described = new AtomicInteger();
  private final FakeCells cells;

  FakeFleet(FakeCells cells) {
    this.cells = cells;
  }

  @Override
  public List<WorkerStatus> workers() {
    described.incrementAndGet();
    return cells.workers.stream()
        .map(worker -> new WorkerStatus(
            worker, "cell-0", WorkerStatus.Health.HEALTHY, "", cells.pods.drained.contains(worker.pod()),
            new WorkerStatus.Load(0, 0, EngineReport.NONE, cost, WorkerStatus.Work.NONE),
            new WorkerStatus.IndexState(
                0, 0, 0, false, 1, 0, -1, WorkerStatus.Promises.NONE, WorkerStatus.Speculation.NONE, 0, 1),
            WorkerStatus.EventStream.NONE))
        .toList();
  }

  @Override
  public List<HealthChange> healthChanges() {
    return List.copyOf(healthChanges);
  }

  @Override
  public List<HealthChange> healthChanges(String pod) {
    return healthChanges.stream().filter(change -> change.pod().equals(pod)).toList();
  }

  @Override
  public List<CellMove> moves() {
    return List.copyOf(moves);
  }

  @Override
  public List<Problem> problems() {
    return List.of();
  }

  @Override
  public HeldPrefixes heldPrefixes(String model, List<Chain> chains) {
    askedChains = chains;
    return held;
  }

  @Override
  public ClusterStatus cluster() {
    return new ClusterStatus(
        List.of(
            new ClusterStatus.NodeStatus("10.0.0.1:7355", "up", true, "1.2.3", true, false, Duration.ofSeconds(150))),
        List.of(
            new ClusterStatus.CellStatus(
                "cell-0",
                "10.0.0.1:7355",
                0.25,
                List.of(new ClusterStatus.StandbyStatus("10.0.0.2:7355", true, 3, 20)),
                new ClusterStatus.WaitingStatus(
                    List.of(new ClassStatus(ServiceClass.BULK, 7, 4096, 900, 1500, Map.of("busy", 7))),
                    new GuardStatus(5, 4, 120_000, 90_000, 2),
                    List.of(new ModelBacklog("m", 7, 1200, 900, 0, 1500))))),
        workers());
  }
}
