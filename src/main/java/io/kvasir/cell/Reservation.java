package io.kvasir.cell;

/**
 * Load booked on a worker for one request. Closed exactly once, however often and from however many
 * threads {@link #close} is called; when the node that holds it is lost, the cell closes it.
 */
public interface Reservation {
  /** The first token has been seen: the prompt is no longer pending on the worker. Idempotent. */
  void firstToken();

  /**
   * Nobody hands the prompt over after all: the worker reads it itself, and its load says so from now on. Idempotent;
   * nothing where the load says so already, and after the first token.
   */
  void prefillLocally();

  /** A piece of the answer came: the worker moves. Cheap, and may be called for every piece. */
  void progressed();

  /** Gives the load back and tells the cell how it went. Idempotent: the first outcome counts. */
  void close(Outcome outcome);
}
