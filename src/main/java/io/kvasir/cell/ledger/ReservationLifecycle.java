package io.kvasir.cell.ledger;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;

/** The states of one reservation: each is entered at most once, and none after its end. Thread-safe. */
public final class ReservationLifecycle {
  /** The state of a reservation. */
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

  /** The state now. */
  public State state() {
    return state;
  }

  /** Enters {@link State#PREFILLING_LOCALLY}; returns whether it was {@link State#PENDING}. */
  public boolean prefillLocally() {
    return STATE.compareAndSet(this, State.PENDING, State.PREFILLING_LOCALLY);
  }

  /** Enters {@link State#SETTLED}; returns the state before, null if the first token had come or all was over. */
  public @Nullable State settle() {
    return STATE.compareAndSet(this, State.PENDING, State.SETTLED) ? State.PENDING
        : STATE.compareAndSet(this, State.PREFILLING_LOCALLY, State.SETTLED) ? State.PREFILLING_LOCALLY : null;
  }

  /** Enters {@link State#CLOSED}; returns the state before, null if it was closed. */
  public @Nullable State close() {
    State was = STATE.getAndSet(this, State.CLOSED);
    return was == State.CLOSED ? null : was;
  }
}
