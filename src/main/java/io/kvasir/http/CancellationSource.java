package io.kvasir.http;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The side of a {@link Cancellation} that cancels. Thread-safe. */
public final class CancellationSource implements Cancellation, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CancellationSource.class);
  private static final Registration NOTHING = () -> {};

  private enum State { OPEN, CANCELLED, CLOSED }

  // Guarded by this.
  private State state = State.OPEN;
  private @Nullable List<Action> actions;

  @Override
  public synchronized boolean isCancelled() {
    return state == State.CANCELLED;
  }

  @Override
  public Registration onCancelled(Runnable action) {
    synchronized (this) {
      switch (state) {
        case OPEN -> {
          Action added = new Action(action);
          if (actions == null) {
            actions = new ArrayList<>(2);
          }
          actions.add(added);
          return added;
        }
        case CLOSED -> {
          return NOTHING;
        }
        case CANCELLED -> {
          // Runs below, without the lock.
        }
      }
    }
    action.run();
    return NOTHING;
  }

  /** Cancels: runs every action, in the order they were registered. Only the first call, and none after a close. */
  public void cancel() {
    List<Action> due;
    synchronized (this) {
      if (state != State.OPEN) {
        return;
      }
      state = State.CANCELLED;
      due = actions == null ? List.of() : List.copyOf(actions);
      actions = null;
    }
    for (Action next : due) {
      try {
        next.action.run();
      } catch (RuntimeException e) {
        LOG.warn("An action on a cancellation failed", e);
      }
    }
  }

  /** Rules a cancellation out from now on, and forgets the actions: the work has come to its end. */
  @Override
  public synchronized void close() {
    if (state == State.OPEN) {
      state = State.CLOSED;
      actions = null;
    }
  }

  /** By identity: the same action may be registered twice. */
  private final class Action implements Registration {
    private final Runnable action;

    Action(Runnable action) {
      this.action = action;
    }

    @Override
    public void close() {
      synchronized (CancellationSource.this) {
        if (actions != null) {
          actions.remove(this);
        }
      }
    }
  }
}
