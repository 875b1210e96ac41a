package io.kvasir.execution.dispatch;

import io.kvasir.telemetry.RedactedException;
import io.kvasir.time.Timer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A timer for deadlines, nearly all of which are cancelled long before they are due. Scheduling and cancelling cost an
 * entry in a set; the thread that runs what is due looks at all entries when the earliest that it had found is due, and
 * is woken only for one that is due before that, never while it looks. What is due within a moment runs at its end,
 * with one look at all. Thread-safe.
 */
final class DeadlineTimer implements Timer, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DeadlineTimer.class);

  /** The thread looks at least so often. */
  private static final long LONGEST_NANOS = 3_600_000_000_000L;

  /** No deadline minds so much, and of many thousands some are always due. */
  static final long GRAIN_NANOS = 50_000_000L;

  private final Set<Entry> entries = ConcurrentHashMap.newKeySet();
  private final AtomicLong looks = new AtomicLong();
  private final Thread thread;

  /** When the thread looks next, on the clock of {@link System#nanoTime}; while it looks, some time before. */
  private volatile long next = System.nanoTime();

  /** The earliest of what was scheduled since the thread began to look: it may have missed that. */
  private final AtomicLong earliestAdded = new AtomicLong(next + LONGEST_NANOS);

  private volatile boolean closed;

  private final class Entry implements Timeout {
    private final long due;
    private final Runnable action;

    Entry(long due, Runnable action) {
      this.due = due;
      this.action = action;
    }

    @Override
    public void cancel() {
      boolean _ = entries.remove(this);
    }
  }

  /** A timer that runs from now on. */
  DeadlineTimer(String name) {
    thread = Thread.ofPlatform().daemon().name(name).start(this::run);
  }

  @Override
  public Timeout schedule(long delayNanos, Runnable action) {
    long now = System.nanoTime();
    long delay = Math.min(delayNanos, Long.MAX_VALUE / 2);
    Entry entry = new Entry(now + delay, action);
    entries.add(entry);
    note(entry.due);
    // After it is noted: either the thread finds the note, or this finds when the thread will look.
    if ((delay <= 0 ? delay : Math.max(delay, GRAIN_NANOS)) + now - next < 0) {
      LockSupport.unpark(thread);
    }
    return entry;
  }

  private void note(long due) {
    long before = earliestAdded.get();
    while (due - before < 0 && !earliestAdded.compareAndSet(before, due)) {
      before = earliestAdded.get();
    }
  }

  private void run() {
    long looked = next - GRAIN_NANOS;
    long due = next;
    while (!closed) {
      long now = System.nanoTime();
      if (due - now <= 0) {
        looked = now;
        due = look(now);
      }
      next = due;
      // Where it has been woken for what was added it waits for less, and looks when that is due.
      long added = earliestAdded.get();
      if (added - due < 0) {
        due = Math.max(added - looked, GRAIN_NANOS) + looked;
        next = due;
      }
      LockSupport.parkNanos(this, due - System.nanoTime());
    }
    entries.clear();
  }

  /** Runs what is due; returns when the next is. */
  @SuppressWarnings("ModifyCollectionInEnhancedForLoop") // The set is concurrent.
  private long look(long now) {
    earliestAdded.set(now + LONGEST_NANOS);
    looks.incrementAndGet();
    long earliest = now + LONGEST_NANOS;
    for (Entry entry : entries) {
      if (entry.due - now > 0) {
        earliest = entry.due - earliest < 0 ? entry.due : earliest;
      } else if (entries.remove(entry)) {
        run(entry.action);
      }
    }
    return Math.max(earliest - now, GRAIN_NANOS) + now;
  }

  private static void run(Runnable action) {
    try {
      action.run();
    } catch (RuntimeException | Error e) {
      LOG.error("An action failed that was due", RedactedException.of(e));
    }
  }

  /** How often the thread has looked at all entries. */
  long looks() {
    return looks.get();
  }

  /** Whether the thread waits for what is due next. */
  boolean isWaiting() {
    return thread.getState() == Thread.State.TIMED_WAITING;
  }

  /** Ends the thread: nothing runs any more. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }
}
