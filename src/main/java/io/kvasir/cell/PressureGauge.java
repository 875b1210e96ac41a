package io.kvasir.cell;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * What a node knows of the pressure on one cell: the last word of the cell's home, and what the node itself has sent
 * there since. Thread-safe.
 */
final class PressureGauge {
  /** What is said of a cell whose home has not been heard of for a while. */
  static final double UNKNOWN = -1;

  private static final long STALE_NANOS = Duration.ofSeconds(3).toNanos();

  private final AtomicInteger sent = new AtomicInteger();
  private volatile @Nullable Said said;

  private record Said(CellPressure pressure, long nanos) {}

  /** The cell's home speaks. */
  void hear(CellPressure pressure, long nowNanos) {
    said = new Said(pressure, nowNanos);
    sent.set(0);
  }

  /** A request was sent to the cell. */
  void sent() {
    sent.incrementAndGet();
  }

  /** Share of what the cell can do that is in use, 0 to somewhat over 1; {@link #UNKNOWN} while its home is silent. */
  double share(long nowNanos) {
    Said last = said;
    if (last == null || nowNanos - last.nanos() > STALE_NANOS) {
      return UNKNOWN;
    }
    CellPressure pressure = last.pressure();
    return pressure.room() == 0 ? pressure.share() : pressure.share() + (double) sent.get() / pressure.room();
  }

  /** Requests its workers may have in flight; 0 while that is not known. */
  int room() {
    Said last = said;
    return last == null ? 0 : last.pressure().room();
  }
}
