package io.kvasir.cell.directory;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The nodes of every cell, and the nodes that may hold replicas, as this node knows them. Thread-safe. */
public final class NodesByCell {
  private volatile Map<String, CellNodes> byCell = Map.of();
  private volatile SortedMap<String, String> nodes = new TreeMap<>();
  private volatile Runnable onUpdate = () -> {};

  /** The nodes of a cell, null before its first home has published them. */
  public @Nullable CellNodes of(String cell) {
    return byCell.get(cell);
  }

  /** All of them, by the cells' names. */
  public Map<String, CellNodes> all() {
    return byCell;
  }

  /** Has a task run after each update, about once a second, which need not have changed anything; it may not wait. */
  public void onUpdate(Runnable task) {
    onUpdate = task;
  }

  void set(Map<String, CellNodes> now) {
    byCell = Map.copyOf(now);
    onUpdate.run();
  }

  /** The zone of each node that is up, empty where it has none. */
  public SortedMap<String, String> nodes() {
    return nodes;
  }

  void nodes(SortedMap<String, String> now) {
    nodes = now;
    onUpdate.run();
  }
}
