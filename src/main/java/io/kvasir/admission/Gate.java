package io.kvasir.admission;

/**
 * Decides whether a request may go to the worker that has been chosen for it, or waits. A cell has one of each kind;
 * they are looked at in order, and the first that does not let a request go decides. Called for each request of the
 * cell by many threads at once, so an implementation is thread-safe, fast, and lets requests go by a comparison when
 * there is room.
 */
@FunctionalInterface
public interface Gate {
  /**
   * Looks at a request. May be called for the same request again and again while it waits, and says nothing of whether
   * the request then goes: another gate may hold it.
   *
   * @param claim the request
   * @param standing how it stands to others that wait
   * @param prospect what it may expect now
   */
  Verdict check(Claim claim, Standing standing, Prospect prospect);

  /**
   * The most work, in estimated milliseconds, that may be queued at a worker of a known engine when the request goes
   * there; infinite for a gate that does not look at this.
   *
   * @param claim the request
   * @param standing how it stands to others that wait
   */
  default double mostQueueMs(Claim claim, Standing standing) {
    return Double.POSITIVE_INFINITY;
  }
}
