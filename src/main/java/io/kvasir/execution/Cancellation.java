package io.kvasir.execution;

import java.util.ArrayList;
import java.util.List;

/** Ends everything that runs for a client when he leaves, at once and without asking anybody. Thread-safe. */
public final class Cancellation {
  private final List<UpstreamRequest> requests = new ArrayList<>(2);
  private boolean cancelled;
  private Runnable onCancelled = () -> { };

  /** The client has left. */
  public void cancel() {
    List<UpstreamRequest> running;
    Runnable next;
    synchronized (this) {
      cancelled = true;
      running = List.copyOf(requests);
      next = onCancelled;
    }
    running.forEach(leg -> leg.abort(AbortReason.CLIENT_CANCELLED));
    next.run();
  }

  public synchronized boolean isCancelled() {
    return cancelled;
  }

  /** A leg begins; one that comes too late is stopped. */
  public void register(UpstreamRequest leg) {
    boolean late;
    synchronized (this) {
      late = cancelled;
      requests.add(leg);
    }
    if (late) {
      leg.abort(AbortReason.CLIENT_CANCELLED);
    }
  }

  /** What else has to happen, in place of what was to happen before; at once if the client has left. */
  public void onCancelled(Runnable next) {
    boolean late;
    synchronized (this) {
      late = cancelled;
      onCancelled = next;
    }
    if (late) {
      next.run();
    }
  }
}
