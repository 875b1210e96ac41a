package io.kvasir.app.node;

import io.kvasir.time.Timer;
import java.time.Duration;
import org.apache.pekko.actor.Cancellable;
import org.apache.pekko.actor.typed.ActorSystem;

/** The actor system's scheduler as a timer; precise to its tick, some milliseconds. Thread-safe. */
record PlatformTimer(ActorSystem<?> system) implements Timer {
  @Override
  public Timeout schedule(long delayNanos, Runnable action) {
    Cancellable scheduled =
        system.scheduler().scheduleOnce(Duration.ofNanos(delayNanos), action, system.executionContext());
    return scheduled::cancel;
  }
}
