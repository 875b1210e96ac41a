package io.kvasir.cell;

import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Load booked on a worker for one request. Closed exactly once, however often and from however many
 * threads {@link #close} is called; when the node that holds it is lost, the cell closes it.
 */
public interface Reservation {
  /**
   * Waits until the requests are sent that were decided before and are to compute blocks which this one counts on, some
   * milliseconds at most; where the engine shares blocks only once it has computed them, until those have been, or
   * should have been. Returns at once where there are none.
   *
   * @param cancelled whether the request is not to be sent any more; looked at every some milliseconds
   * @return {@link PrefixHold#NONE} where it was not held
   */
  default PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    return PrefixHold.NONE;
  }

  /**
   * Whether the request is to be held now for blocks that earlier ones are to compute: {@link PrefixHold#NONE}, {@link
   * PrefixHold#HELD}, {@link PrefixHold#OVERDUE} or {@link PrefixHold#UNKNOWN}. For the cell's home; may wait for a
   * write to the index, for nothing else.
   */
  default PrefixHold prefixHold() {
    return PrefixHold.NONE;
  }

  /**
   * Where the holder is another node, has the cell inquire there whether the request is sent, once another one waits
   * for that; the holder then calls {@link #sent}. Without this call it is only known here.
   *
   * @param inquiry any thread runs it, once at most; it does not block
   */
  default void onAwaited(Runnable inquiry) {}

  /** The request is sent: those that count on its blocks may follow, once it has them. Idempotent. */
  default void sent() {}

  /**
   * Lets the cell take the request back for a more urgent one, as long as its answer has not begun: it then runs {@code
   * preempt}, at which the holder cancels the request and closes this with {@link Outcome.Preempted}; or does nothing,
   * when the answer has begun meanwhile. Without this call it never does.
   *
   * @param preempt any thread runs it, perhaps more than once; it does not block
   */
  default void onPreempt(Runnable preempt) {}

  /** The first token has been seen: the prompt is no longer pending on the worker. Idempotent. */
  void firstToken();

  /**
   * The prompt is not handed over after all: the worker prefills itself, and is booked for that from now on.
   * Idempotent; without effect where it is booked for that already, and after the first token.
   */
  void prefillLocally();

  /** A piece of the answer came: the worker makes progress. Cheap, and may be called for every piece. */
  void progressed();

  /**
   * How what was predicted to be cached compares with what the answer reported; null before it is closed, where nothing
   * was predicted or reported, and where another node has the answer.
   */
  default @Nullable HitOutcome hitOutcome() {
    return null;
  }

  /** Gives the load back, with the outcome for the cell. Idempotent: the first outcome counts. */
  void close(Outcome outcome);
}
