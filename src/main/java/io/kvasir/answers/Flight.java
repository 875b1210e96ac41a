package io.kvasir.answers;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An answer on its way from a worker to everybody who asked for it: one for each request, or for all identical ones
 * that come while it lasts. Whoever wants it has a {@link Seat}. The worker's side runs on a thread of its own and
 * belongs to none of the clients: one that is slow or leaves holds up nobody, and only when the last has left is the
 * worker told to stop.
 *
 * <p>The answer is written down as it comes; each client is sent it at its own pace from there. While it may be kept it
 * is written down whole, and clients may still join. When it becomes too long for that, or is none to keep, it goes on
 * with a window: what every client has is let go, and the worker waits for the slowest. Thread-safe.
 *
 * <p>An answer to keep is kept before any client learns that it has come to its end: whoever has it whole and asks
 * again gets it from the cache. For that a miss waits for the store once more, which it has done when it was looked up.
 *
 * @param <H> what is known of an answer before its body
 */
public final class Flight<H> {
  /** How far the worker may be ahead of the slowest client where nothing is kept. */
  private static final int WINDOW = 256 << 10;

  /** A stream's last event is looked for in so many bytes. */
  private static final int TAIL = 64 << 10;

  private final Flights<H> flights;
  private final Lookup.Miss miss;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private final Recording recording = new Recording();
  private final List<Seat> seats = new ArrayList<>();
  private boolean joinable;
  private boolean whole = true;
  private long taken;
  private @Nullable H head;
  private boolean streams;
  /** Nothing more comes from the worker: whoever leaves now stops nothing. */
  private boolean arrived;
  private boolean over;
  private boolean abandoned;
  private @Nullable Throwable failure;
  private @Nullable Runnable onAbandoned;

  Flight(Flights<H> flights, Lookup.Miss miss, boolean joinable) {
    this.flights = flights;
    this.miss = miss;
    this.joinable = joinable;
  }

  /** The seat of who began it. */
  Seat first() {
    return seat(true);
  }

  private Seat seat(boolean leads) {
    Seat seat = new Seat(leads);
    seats.add(seat);
    return seat;
  }

  /** How an attempt to join went: with a seat, without one because there are too many, or too late. */
  record Joining<H>(Flight<H>.@Nullable Seat seat, boolean crowded) {}

  Joining<H> join(long mark, int maxWaiters) {
    lock.lock();
    try {
      if (!joinable || abandoned || mark != miss.mark()) {
        return new Joining<>(null, false);
      }
      return seats.size() > maxWaiters ? new Joining<>(null, true) : new Joining<>(seat(false), false);
    } finally {
      lock.unlock();
    }
  }

  // The worker's side: one thread.

  /**
   * The answer somebody else has got since this request missed it, which may just have come in; null when a worker has
   * to be asked. Called once, before that.
   */
  public Lookup.@Nullable Hit again() {
    Lookup.Hit hit = miss.refresh() || !flights.shares() ? null : flights.cache().again(miss);
    if (hit == null) {
      flights.cache().metrics().missed();
    } else {
      flights.cache().metrics().hit();
    }
    return hit;
  }

  /** Runs {@code action} once when the last client has left before the end; at once if it has. It must not block. */
  public void onAbandoned(Runnable action) {
    lock.lock();
    try {
      if (!abandoned) {
        onAbandoned = action;
        return;
      }
    } finally {
      lock.unlock();
    }
    action.run();
  }

  /** The answer is here whole and fit for every client. Ends the flight. */
  public void landed(H answer) {
    lock.lock();
    try {
      head = answer;
    } finally {
      lock.unlock();
    }
    end();
  }

  /** The answer is here whole and may be kept. Ends the flight, once it is. */
  public void landed(H answer, String contentType, byte[] body) {
    arrive();
    try {
      flights.cache().keep(miss, contentType, body);
    } finally {
      landed(answer);
    }
  }

  /**
   * The answer's body begins; {@link #write} and {@link #completed} or {@link #failed} follow.
   *
   * @param keepable whether it may be kept if nothing goes wrong
   */
  public void departed(H answer, boolean keepable) {
    lock.lock();
    try {
      head = answer;
      streams = true;
      if (!keepable) {
        passOnly();
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes a part of the body; waits only when nothing is kept and a client is slow. The array is free again on return.
   *
   * @throws IOException when nobody is left who wants it
   */
  public void write(byte[] bytes, int offset, int length) throws IOException {
    lock.lock();
    try {
      if (whole) {
        Optional<String> refused = recording.end() + length > flights.cache().settings().maxEntry()
            ? Optional.of("too_long")
            : flights.take(length) ? Optional.empty() : Optional.of("crowded");
        if (refused.isEmpty()) {
          taken += length;
        } else {
          flights.cache().metrics().notKept(refused.get());
          passOnly();
        }
      }
      while (!whole && !abandoned && recording.end() - slowest() > WINDOW) {
        changed.awaitUninterruptibly();
      }
      if (abandoned) {
        throw new IOException("every client has left");
      }
      recording.append(bytes, offset, length);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** The body was whole. Ends the flight, once the answer is kept. */
  public void completed(String contentType) {
    arrive();
    try {
      if (whole) {
        // Only this thread appends, and nobody forgets anything while it is whole.
        flights.cache().keep(miss, contentType, recording.whole());
      }
    } finally {
      end();
    }
  }

  /** There is no answer, or no more of it. Ends the flight. */
  public void failed(Throwable why) {
    lock.lock();
    try {
      failure = why;
    } finally {
      lock.unlock();
    }
    end();
  }

  private void arrive() {
    lock.lock();
    try {
      arrived = true;
    } finally {
      lock.unlock();
    }
  }

  private void end() {
    long given;
    lock.lock();
    try {
      arrived = true;
      over = true;
      joinable = false;
      given = taken;
      taken = 0;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    flights.give(given);
    flights.ended(miss.key(), this);
  }

  // With the lock held.

  private void passOnly() {
    whole = false;
    joinable = false;
    flights.ended(miss.key(), this);
  }

  /**
   * Whether the stream's last event is here, and only the end of the body is not. Many clients leave then: they have
   * all they wanted, and the answer is whole.
   */
  private boolean saidAll() {
    return whole && flights.cache().isOver(recording.last(TAIL));
  }

  private long slowest() {
    long slowest = recording.end();
    for (Seat seat : seats) {
      slowest = Math.min(slowest, seat.offset);
    }
    return slowest;
  }

  /** The way to a client. */
  @FunctionalInterface
  public interface Sink {
    /** Writes bytes, which must not be changed; waits while the client is slow. */
    void write(byte[] bytes, int offset, int length) throws IOException;
  }

  /** A client's place. Its methods are for the client's own thread, but for {@link #leave}. */
  public final class Seat {
    private final boolean leads;
    /** How much of the body has gone to the client. Guarded by the lock. */
    private long offset;

    private Seat(boolean leads) {
      this.leads = leads;
    }

    /** Whether it is this client's to have the answer got. */
    public boolean leads() {
      return leads;
    }

    /** The flight. */
    public Flight<H> flight() {
      return Flight.this;
    }

    /** Whether {@link #copyTo} gives the body; otherwise the head says everything. Known with the head. */
    public boolean streams() {
      lock.lock();
      try {
        return streams;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Waits for the answer's beginning.
     *
     * @return null when this client has left, or nothing came
     */
    public @Nullable H head() throws InterruptedException {
      lock.lock();
      try {
        while (head == null && !over && seats.contains(this)) {
          changed.await();
        }
        return head;
      } finally {
        lock.unlock();
      }
    }

    /** Why nothing came, null when something did, or when all had left. */
    public @Nullable Throwable failure() {
      lock.lock();
      try {
        return failure;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Hands the body to the client as it comes, and leaves.
     *
     * @throws IOException when the worker cut it short or the client left
     */
    public void copyTo(Sink client) throws IOException {
      try {
        for (Recording.Slice next = next(); next != null; next = next()) {
          client.write(next.bytes(), next.from(), next.length());
          sent(next.length());
        }
      } finally {
        leave();
      }
    }

    private Recording.@Nullable Slice next() throws IOException {
      lock.lock();
      try {
        while (offset == recording.end() && !over && seats.contains(this)) {
          changed.awaitUninterruptibly();
        }
        if (offset < recording.end() && seats.contains(this)) {
          return recording.from(offset);
        }
        if (!over || failure != null) {
          throw new IOException(failure == null ? "the client left" : "the answer was cut short", failure);
        }
        return null;
      } finally {
        lock.unlock();
      }
    }

    private void sent(int length) {
      lock.lock();
      try {
        offset += length;
        if (!whole) {
          recording.forget(slowest());
          changed.signalAll();
        }
      } finally {
        lock.unlock();
      }
    }

    /** The client wants no more. Idempotent; any thread; does not block. */
    public void leave() {
      Runnable stop = null;
      lock.lock();
      try {
        if (!seats.remove(this)) {
          return;
        }
        if (!leads) {
          flights.cache().metrics().sharing(false);
        }
        if (seats.isEmpty() && !arrived && !saidAll()) {
          abandoned = true;
          joinable = false;
          stop = onAbandoned;
        }
        changed.signalAll();
      } finally {
        lock.unlock();
      }
      if (stop != null) {
        stop.run();
      }
    }
  }
}
