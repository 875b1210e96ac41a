package io.kvasir.admission;

/**
 * How fast a waiting room empties: tokens per second, over about the last ten seconds in which somebody waited. Not
 * thread-safe.
 */
final class DrainRate {
  private static final double WINDOW_SECONDS = 10;

  /** Less than this says nothing. */
  private static final double LEAST_SECONDS = 1;

  private double tokens;
  private double seconds;
  private long lastNanos;

  /** Somebody begins to wait after nobody did: the time before says nothing of how fast requests go. */
  void begin(long nowNanos) {
    lastNanos = nowNanos;
  }

  /** Notes requests that have gone since the last call, while somebody waited all the time. */
  void add(double went, long nowNanos) {
    double elapsed = Math.max(0, (nowNanos - lastNanos) / 1e9);
    double kept = Math.exp(-elapsed / WINDOW_SECONDS);
    tokens = tokens * kept + went;
    seconds = seconds * kept + elapsed;
    lastNanos = nowNanos;
  }

  /** Tokens a second; 0 while nothing is known. */
  double perSecond() {
    return seconds < LEAST_SECONDS ? 0 : tokens / seconds;
  }
}
