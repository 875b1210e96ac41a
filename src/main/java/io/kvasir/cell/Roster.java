package io.kvasir.cell;

import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * All pods of the fleet and the cells they belong to, as one node sees them at one moment. Immutable.
 */
final class Roster {
  static final Roster EMPTY = new Roster(Map.of());

  private final Map<String, PodEntry> pods;
  private final Map<String, String> cellByModel = new TreeMap<>();
  private final Set<String> cells = new TreeSet<>();

  Roster(Map<String, PodEntry> pods) {
    this.pods = new TreeMap<>(pods);
    for (PodEntry pod : this.pods.values()) {
      cells.add(pod.cell());
      for (String model : pod.spec().models()) {
        cellByModel.putIfAbsent(model, pod.cell());
      }
    }
  }

  @Nullable PodEntry pod(String name) {
    return pods.get(name);
  }

  /** All pods, in the order of their names. */
  Collection<PodEntry> pods() {
    return pods.values();
  }

  /** The pods of a cell, by name. */
  Map<String, PodEntry> ofCell(String cell) {
    Map<String, PodEntry> members = new TreeMap<>(pods);
    members.values().removeIf(pod -> !pod.cell().equals(cell));
    return members;
  }

  /** The cell whose workers serve a model, null when none does. */
  @Nullable String cellOf(String model) {
    return cellByModel.get(model);
  }

  Set<String> cells() {
    return cells;
  }

  /** Every name requests may call a model by. */
  Set<String> models() {
    return Collections.unmodifiableSet(cellByModel.keySet());
  }

  /** Slots a cell's pods take: one for each rank. */
  int slotsTaken(String cell) {
    return ofCell(cell).values().stream().mapToInt(pod -> pod.spec().ranks()).sum();
  }
}
