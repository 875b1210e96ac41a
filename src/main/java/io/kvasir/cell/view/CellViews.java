package io.kvasir.cell.view;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The views of the cells whose home is this node. Thread-safe. */
public final class CellViews {
  private final Map<String, CellView> views = new ConcurrentHashMap<>();

  /** Publishes the view of a cell that has come to this node. */
  public void publish(String cell, CellView view) {
    views.put(cell, view);
  }

  /** Takes a view out, unless a newer one of the same cell has taken its place. */
  public void withdraw(String cell, CellView view) {
    views.remove(cell, view);
  }

  /** The view of a cell, null when this node is not its home. */
  public @Nullable CellView of(String cell) {
    return views.get(cell);
  }

  /** By the cells' names. */
  public Map<String, CellView> all() {
    return views;
  }
}
