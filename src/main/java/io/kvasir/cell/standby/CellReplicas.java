package io.kvasir.cell.standby;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The replicas on this node of cells whose home is another node. Thread-safe. */
public final class CellReplicas {
  private final Map<String, CellReplica> replicas = new ConcurrentHashMap<>();

  void put(String cell, CellReplica copy) {
    replicas.put(cell, copy);
  }

  /** Ends a copy for good, unless another one of the same cell has taken its place or a home has taken it over. */
  void withdraw(String cell, CellReplica copy) {
    if (replicas.remove(cell, copy)) {
      copy.close();
    }
  }

  /** Ends a cell's copy because the cell has come here; null when there is none to begin with. */
  public CellReplica.@Nullable WarmState takeOver(String cell) {
    CellReplica copy = replicas.remove(cell);
    return copy == null ? null : copy.takeOver();
  }
}
