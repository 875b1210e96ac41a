package io.kvasir.cell.worker;

import io.kvasir.cell.WorkerStatus.Health;
import java.time.Duration;

/**
 * The reachability of a pod, which its ranks share as they share its server. A connection that was refused or cut
 * takes it out at once, and the next contact brings it back: an answer, or a probe that was sent after the loss.
 *
 * <p>A lost event stream is often the first sign that an engine died, so it takes the pod out, too, but only until
 * the probe that is sent at once: an engine that answers is up, whatever became of its publisher, and for a
 * while a lost stream does not count again. Events prove that an engine works, not that its server takes requests:
 * they bring a pod back that a lost stream took out, and have any other probed at once.
 *
 * <p>Thread-safe; time comes in, in nanoseconds.
 */
public final class Reachability {
  private final long streamDoubtNanos;
  private final ChangeCounter changes;
  private volatile Health state = Health.UNKNOWN;
  private volatile String reason = "it has not been reached yet";
  private int losses;
  private int failedProbes;
  private long lostNanos;
  private boolean lostByStream;
  private boolean streamDoubted;
  private long streamDoubtedNanos;
  private boolean probeRequested;

  /**
   * A pod whose state is unknown.
   *
   * @param streamDoubt how long the loss of an event stream is ignored after a probe has contradicted it
   * @param revision counts the changes
   */
  public Reachability(Duration streamDoubt, ChangeCounter revision) {
    this.streamDoubtNanos = streamDoubt.toNanos();
    this.changes = revision;
  }

  /** Unknown, healthy or unhealthy. */
  public Health state() {
    return state;
  }

  /** Whether it can be reached. */
  public boolean isReachable() {
    return state == Health.HEALTHY;
  }

  /** How often it was lost after it had been reached: whoever looks now and then sees short losses, too. */
  synchronized int losses() {
    return losses;
  }

  /** What took it out, in words that follow its name; of no meaning while it is well. */
  String reason() {
    return reason;
  }

  /** An answer came. */
  public synchronized void onSuccess() {
    markReachable();
  }

  /** A connection was refused, reset or cut. */
  public synchronized void onConnectionLost(long now, String how) {
    markUnreachable(now, how, false);
  }

  /** The transport of its events lost the engine. */
  public synchronized void onStreamLost(long now) {
    boolean doubted = streamDoubted && now - streamDoubtedNanos < streamDoubtNanos;
    if (isReachable() && !doubted) {
      markUnreachable(now, "its event stream was lost and it has not answered since", true);
    }
    probeRequested = true;
  }

  /** Its event stream delivered something. */
  synchronized void onEvents() {
    if (isReachable()) {
      return;
    }
    if (lostByStream) {
      markReachable();
    } else {
      probeRequested = true;
    }
  }

  /**
   * Handles the result of a probe. The first one that fails does not take the pod out, the second one does.
   *
   * @param sentNanos when it was sent: one from before the loss of contact proves nothing
   */
  public synchronized void onProbe(boolean answered, long sentNanos) {
    if (answered) {
      if (state == Health.UNHEALTHY && sentNanos - lostNanos < 0) {
        probeRequested = true;
        return;
      }
      if (lostByStream && !isReachable()) {
        streamDoubted = true;
        streamDoubtedNanos = sentNanos;
      }
      markReachable();
    } else if (++failedProbes >= 2 || !isReachable()) {
      markUnreachable(sentNanos, "its health route does not answer with success", false);
    }
  }

  /** Whether a probe was requested at once; clears the request. */
  public synchronized boolean pollProbeRequest() {
    boolean requested = probeRequested;
    probeRequested = false;
    return requested;
  }

  private void markReachable() {
    failedProbes = 0;
    setState(Health.HEALTHY);
  }

  private void markUnreachable(long now, String how, boolean byStream) {
    lostNanos = now;
    lostByStream = byStream;
    reason = how;
    if (isReachable()) {
      probeRequested = true;
      losses++;
    }
    setState(Health.UNHEALTHY);
  }

  private void setState(Health now) {
    if (state != now) {
      state = now;
      changes.increment();
    }
  }
}
