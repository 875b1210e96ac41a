package io.kvasir.cell.home;

import io.kvasir.cell.directory.Roster;
import java.time.Duration;
import java.util.OptionalLong;

/**
 * For how long a cell has been without pods. One whose model has been replaced is to end, which frees its index; one
 * whose pods are started anew is not. The cell's actor's.
 */
final class Vacancy {
  /** How long a cell stays without pods. */
  static final Duration MOST = Duration.ofMinutes(5);

  private final String cell;
  private OptionalLong sinceNanos = OptionalLong.empty();

  Vacancy(String cell) {
    this.cell = cell;
  }

  /**
   * Whether the cell has been vacant for as long as it stays; called at every tick. A roster without any pod is that of
   * a node that has just started, which says nothing of the cell.
   *
   * @param idle whether no request waits or is in flight there
   */
  boolean isOver(Roster roster, boolean idle, long now) {
    if (!idle || roster.cells().isEmpty() || roster.cells().contains(cell)) {
      sinceNanos = OptionalLong.empty();
      return false;
    }
    if (sinceNanos.isEmpty()) {
      sinceNanos = OptionalLong.of(now);
    }
    return now - sinceNanos.getAsLong() >= MOST.toNanos();
  }
}
