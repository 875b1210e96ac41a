package io.kvasir.scale;

/**
 * What requests have to do that no worker of a target has been given: they wait in the router for their turn, or for
 * the first worker, or were refused because there are too few. With these a fleet needs as many workers as if it had
 * taken all of them at once.
 *
 * @param requests that wait
 * @param promptTokens of those
 * @param owedSeconds seconds of prefill of those
 * @param morePerSecond seconds of prefill per second by which more arrive than workers are given; below 0 while workers
 *     are given what waited
 * @param memoryLoad caches that requests need which wait for room for their programs, in workers' caches
 * @param oldestSeconds how long the first of them has waited
 * @param refusedPerSecond requests per second that were refused, over about the last minute; one that its client sends
 *     again counts again
 */
public record Backlog(
    int requests, long promptTokens, double owedSeconds, double morePerSecond, double memoryLoad, double oldestSeconds,
    double refusedPerSecond) {
  /** None. */
  public static final Backlog NONE = new Backlog(0, 0, 0, 0, 0, 0, 0);

  /** Whether requests wait, or were refused. */
  boolean isActive() {
    return requests > 0 || refusedPerSecond > 0;
  }
}
