package io.kvasir.cell.client;

import io.kvasir.cell.view.CellPressure;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * The pressure on one cell as a node knows it: what the cell's home published last, and what the node itself has sent
 * there since. Read for every request, hence in one piece of memory. Thread-safe; a read during an update may see some
 * of the earlier values.
 */
final class PressureGauge {
  /** The share of a cell whose home has published nothing for a while. */
  static final double UNKNOWN = -1;

  private static final long STALE_NANOS = Duration.ofSeconds(3).toNanos();
  private static final AtomicIntegerFieldUpdater<PressureGauge> SENT =
      AtomicIntegerFieldUpdater.newUpdater(PressureGauge.class, "sent");

  private volatile double share = UNKNOWN;
  private volatile int capacity;
  private volatile int sent;
  private volatile long updatedNanos;

  /** The cell's home has published its pressure. */
  void update(CellPressure pressure, long nowNanos) {
    updatedNanos = nowNanos;
    capacity = pressure.capacity();
    sent = 0;
    share = pressure.share();
  }

  /** A request was sent to the cell. */
  void sent() {
    SENT.incrementAndGet(this);
  }

  /**
   * Share of what the cell can do that is in use, 0 to somewhat over 1; {@link #UNKNOWN} while its home publishes
   * nothing.
   */
  double share(long nowNanos) {
    double published = share;
    if (published == UNKNOWN || nowNanos - updatedNanos > STALE_NANOS) {
      return UNKNOWN;
    }
    int takes = capacity;
    return takes == 0 ? published : published + (double) sent / takes;
  }

  /** Requests its workers may have in flight; 0 while that is not known. */
  int capacity() {
    return capacity;
  }
}
