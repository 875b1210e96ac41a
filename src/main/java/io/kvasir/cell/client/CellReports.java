package io.kvasir.cell.client;

import io.kvasir.cell.WorkerStatus.Health;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What this node has received of each cell from the cell's home: the pressure on it, and the health of its workers.
 * Thread-safe.
 */
public final class CellReports {
  private final Map<String, PressureGauge> gauges = new ConcurrentHashMap<>();

  /** By cell: the workers that are not healthy. A cell whose home has never published any is not among them. */
  private final Map<String, Map<String, Health>> unhealthyWorkers = new ConcurrentHashMap<>();

  /** The pressure gauge of a cell, always the same one while the cell is in the roster. */
  PressureGauge gauge(String cell) {
    return gauges.computeIfAbsent(cell, _ -> new PressureGauge());
  }

  /** Replaces what was known of the health of a cell's workers by those that are not healthy. */
  void updateHealth(String cell, Map<String, Health> unhealthy) {
    unhealthyWorkers.put(cell, unhealthy);
  }

  /** The health of a worker as its cell's home published it last, {@link Health#UNKNOWN} until it has. */
  Health health(String cell, String worker) {
    Map<String, Health> unhealthy = unhealthyWorkers.get(cell);
    return unhealthy == null ? Health.UNKNOWN : unhealthy.getOrDefault(worker, Health.HEALTHY);
  }

  /** Drops the cells that are not in the roster any more. */
  void retain(Set<String> cells) {
    gauges.keySet().retainAll(cells);
    unhealthyWorkers.keySet().retainAll(cells);
  }
}
