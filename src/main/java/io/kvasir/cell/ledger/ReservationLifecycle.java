package io.kvasir.cell.ledger;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/** The way of one reservation, whoever keeps it: each step is taken once, and none after its end. Thread-safe. */
public final class ReservationLifecycle {
  /** Where a reservation is. */
  public enum State {
    /** Its first token has not come. */
    PENDING,
    /** The same, and its worker reads the prompt itself though another was to hand it over. */
    PREFILLING_LOCALLY,
    /** Its first token has come. */
    SETTLED,
    /** It is over. */
    CLOSED
  }

  private static final AtomicReferenceFieldUpdater<ReservationLifecycle, State> STATE =
      AtomicReferenceFieldUpdater.newUpdater(ReservationLifecycle.class, State.class, "state");

  private volatile State state = State.PENDING;

  /** Where it is. */
  public State state() {
    return state;
  }

  /** The worker reads the prompt itself; returns whether that is new and matters. */
  public boolean prefillLocally() {
    return STATE.compareAndSet(this, State.PENDING, State.PREFILLING_LOCALLY);
  }

  /** The first token came; returns the state that ended with it, null if it had come or all is over. */
  public @Nullable State settle() {
    return STATE.compareAndSet(this, State.PENDING, State.SETTLED) ? State.PENDING
        : STATE.compareAndSet(this, State.PREFILLING_LOCALLY, State.SETTLED) ? State.PREFILLING_LOCALLY : null;
  }

  /** It is over; returns the state that ended with it, null if it was over. */
  public @Nullable State close() {
    State was = STATE.getAndSet(this, State.CLOSED);
    return was == State.CLOSED ? null : was;
  }
}
