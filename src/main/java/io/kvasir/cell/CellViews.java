package io.kvasir.cell;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The cells at home on this node, for every thread of it. */
final class CellViews {
  private final Map<String, CellView> views = new ConcurrentHashMap<>();

  void publish(String cell, CellView view) {
    views.put(cell, view);
  }

  /** Takes a view out, unless a newer one of the same cell has taken its place. */
  void withdraw(String cell, CellView view) {
    views.remove(cell, view);
  }

  @Nullable CellView of(String cell) {
    return views.get(cell);
  }

  Map<String, CellView> all() {
    return views;
  }
}
