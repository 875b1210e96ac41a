package io.kvasir.cell;

/**
 * A move of a cell from one home to another.
 *
 * @param timeMillis when this node learnt of it, milliseconds since the epoch
 * @param cell the cell's name
 * @param from the address of the node that was its home
 * @param to the address of the node that is
 * @param reason why it moved
 */
public record CellMove(long timeMillis, String cell, String from, String to, Reason reason) {
  /** Why a cell moves. */
  public enum Reason {
    /** Its home left the cluster in good order. */
    HOME_LEFT,
    /** Its home was lost: it ended, or the others could not reach it and took it out. */
    HOME_LOST,
    /** Its home had more cells than others. */
    BALANCE
  }

  /** The same move for another reason. */
  public CellMove because(Reason other) {
    return new CellMove(timeMillis, cell, from, to, other);
  }
}
