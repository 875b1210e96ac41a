package io.kvasir.cell;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The way of one reservation, whoever keeps it: each step is taken once, and none after its end. Thread-safe. */
final class ReservationSteps {
  /** Where a reservation is. */
  enum State {
    /** Its first token has not come. */
    PENDING,
    /** The same, and its worker reads the prompt itself though another was to hand it over. */
    READING,
    /** Its first token has come. */
    SETTLED,
    /** It is over. */
    CLOSED
  }

  private final AtomicReference<State> state = new AtomicReference<>(State.PENDING);

  State state() {
    return state.get();
  }

  /** The worker reads the prompt itself; returns whether that is new and matters. */
  boolean read() {
    return state.compareAndSet(State.PENDING, State.READING);
  }

  /** The first token came; returns the state that ended with it, null if it had come or all is over. */
  @Nullable State settle() {
    return state.compareAndSet(State.PENDING, State.SETTLED) ? State.PENDING
        : state.compareAndSet(State.READING, State.SETTLED) ? State.READING : null;
  }

  /** It is over; returns the state that ended with it, null if it was over. */
  @Nullable State close() {
    State was = state.getAndSet(State.CLOSED);
    return was == State.CLOSED ? null : was;
  }
}
