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

  /** By cell; one whose home has never published any is not among them. */
  private final Map<String, HealthReport> health = new ConcurrentHashMap<>();

  /**
   * What a cell's home published of its workers.
   *
   * @param unhealthy those that are not healthy
   * @param losses how often those were lost that were
   */
  private record HealthReport(Map<String, Health> unhealthy, Map<String, Integer> losses) {}

  /** The pressure gauge of a cell, always the same one while the cell is in the roster. */
  PressureGauge gauge(String cell) {
    return gauges.computeIfAbsent(cell, _ -> new PressureGauge());
  }

  /**
   * Replaces what was known of the health of a cell's workers.
   *
   * @param unhealthy those that are not healthy
   * @param losses how often those were lost that were
   */
  void updateHealth(String cell, Map<String, Health> unhealthy, Map<String, Integer> losses) {
    health.put(cell, new HealthReport(unhealthy, losses));
  }

  /** The health of a worker as its cell's home published it last, {@link Health#UNKNOWN} until it has. */
  Health health(String cell, String worker) {
    HealthReport report = health.get(cell);
    return report == null ? Health.UNKNOWN : report.unhealthy().getOrDefault(worker, Health.HEALTHY);
  }

  /** How often a worker was lost, as its cell's home published it last. */
  int losses(String cell, String worker) {
    HealthReport report = health.get(cell);
    return report == null ? 0 : report.losses().getOrDefault(worker, 0);
  }

  /** Drops the cells that are not in the roster any more. */
  void retain(Set<String> cells) {
    gauges.keySet().retainAll(cells);
    health.keySet().retainAll(cells);
  }
}
