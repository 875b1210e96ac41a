package io.kvasir.cell.directory;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Where every cell is, as this node knows, and the nodes on which there may be copies; for any thread. */
public final class NodesByCell {
  private volatile Map<String, CellNodes> byCell = Map.of();
  private volatile SortedMap<String, String> nodes = new TreeMap<>();

  /** Of one cell, null before its first home has told. */
  public @Nullable CellNodes of(String cell) {
    return byCell.get(cell);
  }

  /** By the cells' names. */
  public Map<String, CellNodes> all() {
    return byCell;
  }

  void set(Map<String, CellNodes> now) {
    byCell = Map.copyOf(now);
  }

  /** The zone of each node that is up, empty where it has none. */
  public SortedMap<String, String> nodes() {
    return nodes;
  }

  void nodes(SortedMap<String, String> now) {
    nodes = now;
  }
}
