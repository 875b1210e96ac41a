package io.kvasir.scale;

import java.util.Objects;

/**
 * What the workers of a target have to do at a moment. All figures but the backlog are sums over the workers.
 *
 * @param workers all that are to serve, those that still load or do not answer included, without draining ones
 * @param ready those that may be given requests
 * @param prefillPerSecond seconds of prefill that workers are given per second: how many workers it keeps busy
 * @param secondsPerPrompt seconds of prefill of a prompt, on average; 0 while it is not known
 * @param owedSeconds seconds of prefill that are booked and whose first token has not come
 * @param inFlight requests in flight
 * @param contextTokens prompt tokens of those
 * @param memoryUse caches in use by requests, in workers' caches: 2.5 are two and a half
 * @param tokensPerAnswer tokens of an answer, on average; 0 while it is not known
 * @param tokensPerSecond tokens generated per second
 * @param waiting requests that wait in engines, as far as these report it
 * @param waitSeconds what a prompt waits for now at the worker with the least to read
 * @param backlog requests that no worker has been given
 */
public record FleetDemand(
    int workers,
    int ready,
    double prefillPerSecond,
    double secondsPerPrompt,
    double owedSeconds,
    int inFlight,
    long contextTokens,
    double memoryUse,
    double tokensPerAnswer,
    double tokensPerSecond,
    int waiting,
    double waitSeconds,
    Backlog backlog) {
  /** Takes what a node of an earlier version has worked out, too. */
  public FleetDemand {
    backlog = Objects.requireNonNullElse(backlog, Backlog.NONE);
  }

  /** Whether anything is to be done. */
  public boolean isActive() {
    return inFlight > 0 || waiting > 0 || owedSeconds > 0 || backlog.isActive();
  }

  /** Requests in flight, and those that would be if workers were given all that wait. */
  int requests() {
    return inFlight + backlog.requests();
  }

  /** Seconds of prefill that arrive per second, whether workers are given them or not. */
  double arrivingPerSecond() {
    return Math.max(0, prefillPerSecond + backlog.morePerSecond());
  }
}
