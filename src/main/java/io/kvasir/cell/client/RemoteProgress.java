package io.kvasir.cell.client;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.home.Cell;
import io.kvasir.routing.Worker;
import io.kvasir.time.NanoClock;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Notifies a cell's home on another node of the workers whose answers progress: of each at most once a second, however
 * many streams come from it. Thread-safe, and cheap enough for every piece of an answer.
 */
final class RemoteProgress {
  /** Well below the shortest silence that can matter. */
  private static final long INTERVAL_NANOS = 1_000_000_000L;

  /** As many workers are remembered: those of a cell, and some that have left it while streams go on. */
  private static final int MAX_WORKERS = 2 * CellSettings.MAX_SLOTS;

  /** When the home was last notified of a worker, by its id: slots are given again, and other homes give others. */
  private final Map<String, AtomicLong> sentNanos = new ConcurrentHashMap<>();

  private final Consumer<Cell.Message> cell;
  private final NanoClock clock;

  RemoteProgress(Consumer<Cell.Message> cell, NanoClock clock) {
    this.cell = cell;
    this.clock = clock;
  }

  void progressed(Worker worker) {
    long now = clock.nanos();
    AtomicLong sent = sentNanos.get(worker.id());
    if (sent == null) {
      sent = remember(worker.id(), now - INTERVAL_NANOS);
    }
    long before = sent.getOpaque();
    if (now - before >= INTERVAL_NANOS && sent.compareAndSet(before, now)) {
      cell.accept(new Cell.WorkerProgressed(worker.slot(), worker.id()));
    }
  }

  private AtomicLong remember(String worker, long nanos) {
    if (sentNanos.size() >= MAX_WORKERS) {
      // Those that stream are remembered again by their next piece.
      sentNanos.clear();
    }
    return sentNanos.computeIfAbsent(worker, _ -> new AtomicLong(nanos));
  }
}
