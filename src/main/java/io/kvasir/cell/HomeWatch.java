package io.kvasir.cell;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Which cells' homes do not answer this node, so that not every request waits for one that does not: while a home is
 * late, one request in a while asks it and the others do without. Thread-safe.
 */
final class HomeWatch {
  private static final long PAUSE_NANOS = Duration.ofMillis(200).toNanos();

  private final LongSupplier nanos;
  private final Map<String, Long> late = new ConcurrentHashMap<>(); // by cell: when it may be asked again

  HomeWatch(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** Whether a request may ask a cell's home: any while it answers, one in a while as long as it does not. */
  boolean mayAsk(String cell) {
    Long again = late.get(cell);
    if (again == null) {
      return true;
    }
    long now = nanos.getAsLong();
    return now - again >= 0 && late.replace(cell, again, now + PAUSE_NANOS);
  }

  void answered(String cell) {
    if (!late.isEmpty()) {
      late.remove(cell);
    }
  }

  void late(String cell) {
    late.put(cell, nanos.getAsLong() + PAUSE_NANOS);
  }

  /** Cells whose homes do not answer now. */
  int late() {
    return late.size();
  }
}
