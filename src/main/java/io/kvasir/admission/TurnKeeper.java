package io.kvasir.admission;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that gives the requests of a {@link WaitingRoom} their turns. It runs while somebody waits only, looks
 * again every few milliseconds, and at once when it is notified that a worker has room. Thread-safe.
 */
public final class TurnKeeper implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TurnKeeper.class);

  private static final long INTERVAL_MILLIS = 10;

  /** Rounds are no closer than this, however often there is room. */
  private static final long LEAST_MILLIS = 1;

  private final WaitingRoom room;
  private final AtomicBoolean running = new AtomicBoolean();
  private final Semaphore changed = new Semaphore(0);

  /** A keeper of a room that nobody else keeps. */
  public TurnKeeper(WaitingRoom room) {
    this.room = room;
  }

  /** To be called after a request has been added, and when a worker may have room. One comparison if nobody waits. */
  public void changed() {
    if (room.isEmpty()) {
      return;
    }
    if (changed.availablePermits() == 0) {
      changed.release();
    }
    if (!running.get() && running.compareAndSet(false, true)) {
      Thread.ofVirtual().name("kvasir-turns").start(this::run);
    }
  }

  private void run() {
    try {
      do {
        while (!room.isEmpty()) {
          admit();
          TimeUnit.MILLISECONDS.sleep(LEAST_MILLIS);
          if (changed.tryAcquire(INTERVAL_MILLIS, TimeUnit.MILLISECONDS)) {
            changed.drainPermits();
          }
        }
        running.set(false);
        // Whoever was added in between has found this thread running.
      } while (!room.isEmpty() && running.compareAndSet(false, true));
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } catch (Error failed) {
      // The next change starts another thread.
      running.set(false);
      throw failed;
    }
  }

  /** One request's failure is not the others'. */
  private void admit() {
    try {
      room.admit();
    } catch (RuntimeException failed) {
      LOG.error("a turn of a waiting request failed", failed);
    }
  }

  /** Dismisses everybody, which ends the thread. Idempotent. */
  @Override
  public void close() {
    room.close();
  }
}
