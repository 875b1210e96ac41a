package io.kvasir.cell.client;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.home.Cell;
import io.kvasir.routing.Worker;
import io.kvasir.time.NanoClock;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;

/**
 * Notifies a cell's home on another node of the workers whose answers progress: of each at most once a second, however
 * many streams come from it. Thread-safe, and cheap enough for every piece of an answer.
 */
final class RemoteProgress {
  /** Well below the shortest silence that can matter. */
  private static final long INTERVAL_NANOS = 1_000_000_000L;

  private final AtomicLongArray sentNanos = new AtomicLongArray(CellSettings.MAX_SLOTS);
  private final Consumer<Cell.Message> cell;
  private final NanoClock clock;

  RemoteProgress(Consumer<Cell.Message> cell, NanoClock clock) {
    this.cell = cell;
    this.clock = clock;
    long before = clock.nanos() - INTERVAL_NANOS;
    for (int slot = 0; slot < sentNanos.length(); slot++) {
      sentNanos.setPlain(slot, before);
    }
  }

  void progressed(Worker worker) {
    long now = clock.nanos();
    long before = sentNanos.getOpaque(worker.slot());
    if (now - before >= INTERVAL_NANOS && sentNanos.compareAndSet(worker.slot(), before, now)) {
      cell.accept(new Cell.WorkerProgressed(worker.slot(), worker.id()));
    }
  }
}
