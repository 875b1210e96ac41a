package io.kvasir.cell.ways;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.home.Cell;
import io.kvasir.routing.Worker;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Tells a cell that is at home elsewhere which of its workers move: of each at most once a second, however many
 * streams come from it. Thread-safe, and cheap enough for every piece of an answer.
 */
final class RemoteMovements {
  /** Well below the shortest silence that can matter. */
  private static final long PAUSE_NANOS = 1_000_000_000L;

  private final AtomicLongArray told = new AtomicLongArray(CellSettings.MOST_SLOTS);
  private final Consumer<Cell.Message> cell;
  private final LongSupplier nanos;

  RemoteMovements(Consumer<Cell.Message> cell, LongSupplier nanos) {
    this.cell = cell;
    this.nanos = nanos;
    long before = nanos.getAsLong() - PAUSE_NANOS;
    for (int slot = 0; slot < told.length(); slot++) {
      told.setPlain(slot, before);
    }
  }

  void moved(Worker worker) {
    long now = nanos.getAsLong();
    long before = told.getOpaque(worker.slot());
    if (now - before >= PAUSE_NANOS && told.compareAndSet(worker.slot(), before, now)) {
      cell.accept(new Cell.Moved(worker.slot(), worker.id()));
    }
  }
}
