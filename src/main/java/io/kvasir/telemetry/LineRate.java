package io.kvasir.telemetry;

import io.kvasir.time.NanoClock;
import java.util.concurrent.TimeUnit;

/**
 * A limit on the log lines that anybody can cause: so many in a second, the others only counted, so that a flood of
 * requests fills no disk and hides no other line. Thread-safe.
 */
public final class LineRate {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final int perSecond;
  private final NanoClock clock;

  // Guarded by this.
  private long begun;
  private int written;
  private long leftOut;

  /** A limit of {@code perSecond} lines a second. */
  public LineRate(int perSecond, NanoClock clock) {
    this.perSecond = perSecond;
    this.clock = clock;
    this.begun = clock.nanos();
  }

  /**
   * Takes the place of a line.
   *
   * @return how many lines were left out since the last that was written; -1 when this one is to be left out, too
   */
  public synchronized long take() {
    long now = clock.nanos();
    if (now - begun >= SECOND) {
      begun = now;
      written = 0;
    }
    if (written == perSecond) {
      leftOut++;
      return -1;
    }
    written++;
    long before = leftOut;
    leftOut = 0;
    return before;
  }

  /** What a line that was written adds about those left out before it, as {@link #take} counts them; empty for none. */
  public static String note(long leftOut) {
    return leftOut <= 0 ? "" : " (and " + leftOut + " before it that are not here)";
  }
}
