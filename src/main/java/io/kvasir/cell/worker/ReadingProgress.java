package io.kvasir.cell.worker;

/**
 * How far a worker has probably got with the prompts that are pending there. Only a first token shows that one has been
 * read, so all of a long prompt would count as queued until its end. It is taken to have been read since the last first
 * token, or since it was sent to a worker that had nothing to read, for as long as what was pending then takes: a
 * worker that is silent for longer is not known to have read what came later. Thread-safe; of changes at one moment it
 * may see either.
 */
final class ReadingProgress {
  private volatile Reading reading = new Reading(0, 0);

  /**
   * What is being read.
   *
   * @param sinceNanos when it began
   * @param queueMs that were pending then
   */
  private record Reading(long sinceNanos, double queueMs) {}

  /**
   * A prompt is pending.
   *
   * @param ownMs that it takes
   * @param queueMs that all take that are pending, with it
   */
  void begun(double ownMs, double queueMs, long now) {
    if (queueMs <= ownMs) {
      reading = new Reading(now, queueMs);
    }
  }

  /**
   * A prompt is no longer pending.
   *
   * @param queueMs that the others take
   */
  void ended(double queueMs, long now) {
    reading = new Reading(now, Math.max(0, queueMs));
  }

  /** Estimated milliseconds of what is pending that have been read. */
  double readMs(long now) {
    Reading its = reading;
    return Math.clamp((now - its.sinceNanos) * 1e-6, 0, its.queueMs);
  }
}
