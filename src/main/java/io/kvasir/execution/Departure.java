package io.kvasir.execution;

import java.util.ArrayList;
import java.util.List;

/** Ends everything that runs for a client when he leaves, at once and without asking anybody. Thread-safe. */
final class Departure {
  private final List<Leg> legs = new ArrayList<>(2);
  private boolean gone;
  private Runnable then = () -> { };

  /** The client has left. */
  void leave() {
    List<Leg> running;
    Runnable next;
    synchronized (this) {
      gone = true;
      running = List.copyOf(legs);
      next = then;
    }
    running.forEach(leg -> leg.stop(Stop.CLIENT_LEFT));
    next.run();
  }

  synchronized boolean gone() {
    return gone;
  }

  /** A leg begins; one that comes too late is stopped. */
  void add(Leg leg) {
    boolean late;
    synchronized (this) {
      late = gone;
      legs.add(leg);
    }
    if (late) {
      leg.stop(Stop.CLIENT_LEFT);
    }
  }

  /** What else has to happen, in place of what was to happen before; at once if the client has left. */
  void then(Runnable next) {
    boolean late;
    synchronized (this) {
      late = gone;
      then = next;
    }
    if (late) {
      next.run();
    }
  }
}
