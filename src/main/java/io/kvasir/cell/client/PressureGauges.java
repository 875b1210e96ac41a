package io.kvasir.cell.client;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What a node knows of the pressure on each cell. Thread-safe. */
public final class PressureGauges {
  private final Map<String, PressureGauge> byCell = new ConcurrentHashMap<>();

  /** The gauge of a cell, always the same one while the cell is in the roster. */
  PressureGauge of(String cell) {
    return byCell.computeIfAbsent(cell, _ -> new PressureGauge());
  }

  /** Forgets cells that are no more. */
  void retain(Set<String> cells) {
    byCell.keySet().retainAll(cells);
  }
}
