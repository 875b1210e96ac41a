package io.kvasir.cell;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A reservation in the ledger of a cell that is at home elsewhere: each step is told to it once.
 * Thread-safe.
 */
final class RemoteReservation implements Reservation {
  private static final int PENDING = 0;
  private static final int READING = 1;
  private static final int SETTLED = 2;
  private static final int CLOSED = 3;

  private final long id;
  private final Consumer<Cell.Message> cell;
  private final Runnable movement;
  private final AtomicInteger state = new AtomicInteger(PENDING);

  /**
   * Takes over what a cell holds for this node.
   *
   * @param movement runs for each piece of the answer
   */
  RemoteReservation(long id, Consumer<Cell.Message> cell, Runnable movement) {
    this.id = id;
    this.cell = cell;
    this.movement = movement;
  }

  @Override
  public void firstToken() {
    if (state.compareAndSet(PENDING, SETTLED) || state.compareAndSet(READING, SETTLED)) {
      cell.accept(new Cell.FirstToken(id));
    }
  }

  @Override
  public void readsPrompt() {
    if (state.compareAndSet(PENDING, READING)) {
      cell.accept(new Cell.ReadsPrompt(id));
    }
  }

  @Override
  public void moved() {
    movement.run();
  }

  @Override
  public void close(Outcome outcome) {
    if (state.getAndSet(CLOSED) != CLOSED) {
      cell.accept(new Cell.Close(id, WireOutcome.of(outcome)));
    }
  }
}
