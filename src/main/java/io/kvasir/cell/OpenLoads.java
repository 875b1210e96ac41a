package io.kvasir.cell;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * What this node has in flight on workers of a cell whose ledger it does not keep: booked at a home on another node, or
 * chosen while there was no home. A home that is new to it is told all of it, so that the ledger is whole again.
 *
 * <p>A home is known by its incarnation, which every decision of it tells. What ends while it is being told is told
 * again afterwards, so that the home, which hears everything in the order in which it was said, never keeps what is
 * over. Thread-safe.
 */
final class OpenLoads {
  private final String node;
  private final Consumer<Cell.Message> cell;
  private final Set<RemoteReservation> open = ConcurrentHashMap.newKeySet();
  private volatile long home;
  private volatile boolean unknown; // whether there may be loads that the home has not been told of

  /**
   * The loads of one cell.
   *
   * @param node this node's name at the cell's homes
   * @param cell tells the cell's home, wherever it is
   */
  OpenLoads(String node, Consumer<Cell.Message> cell) {
    this.node = node;
    this.cell = cell;
  }

  /**
   * A load begins.
   *
   * @param booked the home that has it in its ledger, {@link RemoteReservation#NONE} if none does
   */
  void opened(RemoteReservation reservation, long booked) {
    open.add(reservation);
    if (booked != home) {
      unknown = true;
    }
  }

  void closed(RemoteReservation reservation) {
    open.remove(reservation);
  }

  /** A home has decided: if it is a new one it is told what it cannot know. Two volatile reads otherwise. */
  void decidedBy(long incarnation) {
    if (incarnation != home || unknown) {
      declare(incarnation);
    }
  }

  private synchronized void declare(long incarnation) {
    home = incarnation;
    // Before the loads are looked at: one that begins now is seen, or is left for the next time.
    unknown = false;
    Map<RemoteReservation, OpenLoad> declared = new HashMap<>();
    for (RemoteReservation reservation : open) {
      OpenLoad load = reservation.declareTo(incarnation);
      if (load != null) {
        declared.put(reservation, load);
      }
    }
    if (!declared.isEmpty()) {
      List<OpenLoad> loads = new ArrayList<>(declared.values());
      cell.accept(new Cell.Declare(node, loads));
      declared.forEach(RemoteReservation::catchUp);
    }
  }
}
