package io.kvasir.cell.directory;

import io.kvasir.cell.CellMove;
import io.kvasir.cell.CellMove.Reason;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The last moves of cells that this node has seen, a limited number. Thread-safe. */
public final class CellMoves {
  /** Moves that are kept. */
  static final int MOST = 500;

  /** Nodes that have left of which it is remembered that they did; more do not leave while their cells move. */
  private static final int MOST_LEFT = 100;

  /** How long before it is heard of a leave cells that move belong to it. */
  private static final Duration HANDOVER = Duration.ofSeconds(10);

  private final InstantSource clock;

  /** The latest first. Guarded by this. */
  private final Deque<CellMove> moves = new ArrayDeque<>();

  /** Nodes that have left or are about to, in good order. Guarded by this. */
  private final Set<String> left =
      Collections.newSetFromMap(
          new LinkedHashMap<>() {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
              return size() > MOST_LEFT;
            }
          });

  /** None yet. */
  public CellMoves(InstantSource clock) {
    this.clock = clock;
  }

  /** The moves, the latest first. */
  public synchronized List<CellMove> latest() {
    return List.copyOf(moves);
  }

  /** A node leaves the cluster in good order. It may have handed cells over before the others hear of it. */
  synchronized void nodeLeaves(String node) {
    left.add(node);
    String from = NodeNames.hostAndPort(node);
    long earliest = clock.millis() - HANDOVER.toMillis();
    List<CellMove> known = List.copyOf(moves);
    moves.clear();
    for (CellMove move : known) {
      boolean handedOver =
          move.reason() == Reason.BALANCE && move.from().equals(from) && move.timeMillis() >= earliest;
      moves.addLast(handedOver ? move.because(Reason.HOME_LEFT) : move);
    }
  }

  /**
   * Adds the moves between two states of the cells. A cell that was not known has not moved.
   *
   * @param up the nodes that are up after them
   */
  synchronized void add(Map<String, CellNodes> before, Map<String, CellNodes> after, Set<String> up) {
    after.forEach((cell, nodes) -> {
      CellNodes earlier = before.get(cell);
      if (earlier != null && !earlier.home().equals(nodes.home())) {
        String from = earlier.home();
        Reason reason =
            left.contains(from) ? Reason.HOME_LEFT : up.contains(from) ? Reason.BALANCE : Reason.HOME_LOST;
        moves.addFirst(
            new CellMove(
                clock.millis(), cell, NodeNames.hostAndPort(from), NodeNames.hostAndPort(nodes.home()), reason));
        if (moves.size() > MOST) {
          moves.removeLast();
        }
      }
    });
  }
}
