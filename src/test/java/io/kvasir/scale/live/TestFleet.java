package io.kvasir.scale.live;

import io.kvasir.admission.ModelBacklog;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.CellStatus;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerStatus.Work;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A cluster as its cells' homes describe it, set by a test. */
public final class TestFleet {
  private final Map<String, @Nullable String> homes = new LinkedHashMap<>();
  private final Map<String, WorkerStatus> workers = new LinkedHashMap<>();
  private final Map<String, List<ModelBacklog>> rooms = new HashMap<>();
  private boolean reachable = true;

  /** Describes a worker anew. */
  public void put(
      String id, String cell, String model, Role role, Health health, int inFlight, EngineReport report, Work work) {
    homes.putIfAbsent(cell, "node:1");
    Worker worker =
        new Worker(
            id, id, URI.create("http://" + id), 0, 1, 0, role, Set.of(model), Map.of(), 100,
            "h200-Qwen3-32B-tp2", null);
    workers.put(
        id,
        new WorkerStatus(
            worker, cell, health, "", false, new WorkerStatus.Load(inFlight, 0, report, null, work),
            new WorkerStatus.IndexState(
                0, 0, 0, false, 1, 0, 0, WorkerStatus.Promises.NONE, WorkerStatus.Speculation.NONE, 0, 1),
            WorkerStatus.EventStream.NONE));
  }

  /** A worker of model m that does both, with these figures and no report. */
  public void put(String id, int inFlight, Work work) {
    put(id, "c", "m", Role.BOTH, Health.HEALTHY, inFlight, EngineReport.NONE, work);
  }

  /** Has these requests wait at a cell's home. */
  public void backlog(String cell, ModelBacklog... models) {
    rooms.put(cell, List.of(models));
  }

  /** Whether a cell's home answers. */
  public void answers(String cell, boolean answers) {
    homes.put(cell, answers ? "node:1" : null);
    reachable = answers;
  }

  /** As the cluster is described now. */
  public ClusterStatus status() {
    return new ClusterStatus(
        List.of(new NodeStatus("node:1", "up", reachable, "1", false, null, null)),
        homes.entrySet().stream()
            .map(cell ->
                new CellStatus(
                    cell.getKey(), cell.getValue(), null, List.of(),
                    new ClusterStatus.WaitingStatus(
                        List.of(), null, rooms.getOrDefault(cell.getKey(), List.of()))))
            .toList(),
        workers.values().stream().filter(worker -> homes.get(worker.cell()) != null).toList());
  }
}
