package io.kvasir.cell.client;

import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The workers of the roster, with their health: read from the cell's view where its home is this node, otherwise as its
 * home published it last. Answered from this node's memory: no message is sent. Thread-safe.
 */
final class RosterWorkers {
  private final CurrentRoster roster;
  private final CellViews views;
  private final CellReports reports;

  RosterWorkers(CurrentRoster roster, CellViews views, CellReports reports) {
    this.roster = roster;
    this.views = views;
    this.reports = reports;
  }

  /** All of them, by the names of their pods. */
  List<WorkerSummary> all() {
    return summaries(roster.get().pods());
  }

  /** Those that serve a model. */
  List<WorkerSummary> serving(String model) {
    Roster now = roster.get();
    List<PodEntry> pods = new ArrayList<>();
    for (String cell : now.cellsOf(model).keySet()) {
      for (PodEntry pod : now.ofCell(cell).values()) {
        if (pod.spec().models().contains(model)) {
          pods.add(pod);
        }
      }
    }
    return summaries(pods);
  }

  private List<WorkerSummary> summaries(Iterable<PodEntry> pods) {
    Map<String, Map<String, Health>> local = new HashMap<>();
    Map<String, Map<String, Integer>> localLosses = new HashMap<>();
    List<WorkerSummary> summaries = new ArrayList<>();
    for (PodEntry pod : pods) {
      PodSpec spec = pod.spec();
      String cell = pod.cell();
      CellView view = views.of(cell);
      for (String id : spec.workerIds()) {
        Health health =
            view == null
                ? reports.health(cell, id)
                : local.computeIfAbsent(cell, _ -> view.workerHealth()).getOrDefault(id, Health.UNKNOWN);
        int losses =
            view == null
                ? reports.losses(cell, id)
                : localLosses.computeIfAbsent(cell, _ -> view.workerLosses()).getOrDefault(id, 0);
        summaries.add(
            new WorkerSummary(
                id, spec.name(), spec.url(), spec.models(), spec.role(), spec.labels(), pod.draining(), health,
                losses));
      }
    }
    return summaries;
  }
}
