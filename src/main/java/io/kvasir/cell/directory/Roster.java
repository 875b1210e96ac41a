package io.kvasir.cell.directory;

import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.routing.Role;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * All pods of the fleet and the cells they belong to, as one node sees them at one moment. Immutable.
 */
public final class Roster {
  public static final Roster EMPTY = new Roster(Map.of());

  private final Map<String, PodEntry> pods;
  private final Map<String, Map<String, PodEntry>> byCell = new TreeMap<>();
  private final Map<String, SequencedMap<String, Integer>> cellsByModel = new TreeMap<>();
  private final Map<String, String> cellByWorker = new HashMap<>();
  private final Set<String> workerIds = Collections.unmodifiableSet(cellByWorker.keySet());

  /** The roster of these pods, by their names. */
  public Roster(Map<String, PodEntry> pods) {
    this.pods = new TreeMap<>(pods);
    for (PodEntry pod : this.pods.values()) {
      byCell.computeIfAbsent(pod.cell(), _ -> new TreeMap<>()).put(pod.spec().name(), pod);
      for (String model : pod.spec().models()) {
        cellsByModel.computeIfAbsent(model, _ -> new TreeMap<>()).merge(pod.cell(), generatingSlots(pod), Integer::sum);
      }
      pod.spec().workerIds().forEach(id -> cellByWorker.put(id, pod.cell()));
    }
  }

  private static int generatingSlots(PodEntry pod) {
    return pod.draining() || !pod.spec().role().takes(Role.DECODE) ? 0 : pod.spec().engine().ranks();
  }

  @Nullable PodEntry pod(String name) {
    return pods.get(name);
  }

  /** The names of all pods. */
  public Set<String> podNames() {
    return Collections.unmodifiableSet(pods.keySet());
  }

  /** All pods, in the order of their names. */
  public Collection<PodEntry> pods() {
    return pods.values();
  }

  /** What is known of all pods, in the order of their names. */
  public List<PodSpec> specs() {
    return pods.values().stream().map(PodEntry::spec).toList();
  }

  /** The same, of the pods of one source. */
  public List<PodSpec> specs(PodSource source) {
    return pods.values().stream().filter(pod -> pod.source() == source).map(PodEntry::spec).toList();
  }

  /** The pods of a cell, by name. */
  public Map<String, PodEntry> ofCell(String cell) {
    return Collections.unmodifiableMap(byCell.getOrDefault(cell, Map.of()));
  }

  /**
   * The cells with workers that serve a model, in the order of their names, and how many workers that generate can be
   * given requests there; empty when none does.
   */
  public SequencedMap<String, Integer> cellsOf(String model) {
    return Collections.unmodifiableSequencedMap(cellsByModel.getOrDefault(model, Collections.emptyNavigableMap()));
  }

  /** The cell a worker is in, null when there is no worker of that id. */
  public @Nullable String cellOfWorker(String worker) {
    return cellByWorker.get(worker);
  }

  /** The ids of a cell's workers. */
  public List<String> workerIdsOf(String cell) {
    return ofCell(cell).values().stream().flatMap(pod -> pod.spec().workerIds().stream()).toList();
  }

  /** The ids of all workers. */
  public Set<String> workerIds() {
    return workerIds;
  }

  /** The names of all cells. */
  public Set<String> cells() {
    return Collections.unmodifiableSet(byCell.keySet());
  }

  /** Every name requests may call a model by. */
  public Set<String> models() {
    return Collections.unmodifiableSet(cellsByModel.keySet());
  }

  /** Slots a cell's pods take: one for each rank. */
  public int slotsTaken(String cell) {
    return ofCell(cell).values().stream().mapToInt(pod -> pod.spec().engine().ranks()).sum();
  }
}
