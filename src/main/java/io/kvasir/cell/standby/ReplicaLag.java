package io.kvasir.cell.standby;

/** How far a copy of one worker is behind, as its home knows. The worker's events actor writes, any thread reads. */
public final class ReplicaLag {
  private volatile boolean warm;
  private volatile long behind;
  private volatile long oldestNanos;

  /** Whether the copy could take over. */
  public boolean warm() {
    return warm;
  }

  /** Events that the copy has not confirmed. */
  public long behind() {
    return behind;
  }

  /** Since when the oldest of them waits, nanoseconds; of no meaning while there is none. */
  public long oldestNanos() {
    return oldestNanos;
  }

  void update(boolean nowWarm, long nowBehind, long nowOldestNanos) {
    oldestNanos = nowOldestNanos;
    behind = nowBehind;
    warm = nowWarm;
  }
}
