package io.kvasir.routing;

/**
 * What may be queued at a worker when a request goes there. One that is held for its worker waits where its order can
 * still be changed, so a selector looks first for another worker that would begin it earlier. Used by one decision.
 */
public interface QueueLimit {
  /**
   * Estimated milliseconds of work before the request.
   *
   * @param bookedMs of the work that is booked at the worker as queued
   */
  double queueMs(int slot, double bookedMs);

  /** Whether the request is held for a worker with so much work before it. */
  boolean holds(Worker worker, double queueMs);
}
