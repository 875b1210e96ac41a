package io.kvasir.answers;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An answer on its way from a worker to everybody who asked for it: one for each request, or for all identical ones
 * that come while it lasts. Whoever wants it has a {@link Subscriber}. The worker's side runs on a thread of its own
 * and belongs to none of the clients: one that is slow or leaves holds up nobody, and only when the last has left is
 * the worker told to stop.
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
public final class SharedResponse<H> {
  /** How far the worker may be ahead of the slowest client where nothing is kept. */
  private static final int WINDOW = 256 << 10;

  /** A stream's last event is looked for in so many bytes. */
  private static final int TAIL = 64 << 10;

  private final AnswerCache cache;
  private final RecordingBudget recording;
  private final Lookup.Miss miss;
  private final Consumer<SharedResponse<H>> onClosed;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final CancellationSource cancellation = new CancellationSource();

  // Guarded by the lock.
  private final AnswerBuffer buffer = new AnswerBuffer();
  private final List<Subscriber> subscribers = new ArrayList<>();
  private boolean joinable;
  private boolean recordsAll = true;
  private long reservedBytes;
  private @Nullable H head;
  private boolean streams;
  /** Nothing more comes from the worker: whoever leaves now stops nothing. */
  private boolean received;
  private boolean over;
  private boolean abandoned;
  private @Nullable Throwable failure;

  /**
   * A response about to be requested from a worker.
   *
   * @param joinable whether other requests may subscribe
   * @param onClosed called when none may any more; perhaps twice
   */
  SharedResponse(
      AnswerCache cache,
      RecordingBudget recording,
      Lookup.Miss miss,
      boolean joinable,
      Consumer<SharedResponse<H>> onClosed) {
    this.cache = cache;
    this.recording = recording;
    this.miss = miss;
    this.joinable = joinable;
    this.onClosed = onClosed;
  }

  /** The seat of who began it. */
  Subscriber firstSubscriber() {
    return addWaiter(true);
  }

  private Subscriber addWaiter(boolean leads) {
    Subscriber seat = new Subscriber(leads);
    subscribers.add(seat);
    return seat;
  }

  /** How an attempt to join went: with a seat, without one because there are too many, or too late. */
  record JoinResult<H>(SharedResponse<H>.@Nullable Subscriber subscriber, boolean full) {}

  JoinResult<H> subscribe(long mark, int maxWaiters) {
    lock.lock();
    try {
      if (!joinable || abandoned || mark != miss.flushCount()) {
        return new JoinResult<>(null, false);
      }
      return subscribers.size() > maxWaiters ? new JoinResult<>(null, true) : new JoinResult<>(addWaiter(false), false);
    } finally {
      lock.unlock();
    }
  }

  // The worker's side: one thread.

  /**
   * The answer somebody else has got since this request missed it, which may just have come in; null when a worker has
   * to be asked. Called once, before that.
   */
  public Lookup.@Nullable Hit recheckCache() {
    Lookup.Hit hit = miss.refresh() || !cache.settings().shareInFlight() ? null : cache.recheck(miss);
    if (hit == null) {
      cache.metrics().missed();
    } else {
      cache.metrics().hit();
    }
    return hit;
  }

  /** The token that is cancelled when the last client has cancelled before the end. */
  public Cancellation cancellation() {
    return cancellation;
  }

  /** The answer is here whole and fit for every client. Ends the flight. */
  public void complete(H answer) {
    lock.lock();
    try {
      head = answer;
    } finally {
      lock.unlock();
    }
    end();
  }

  /** The answer is here whole and may be kept. Ends the flight, once it is. */
  public void complete(H answer, String contentType, byte[] body) {
    arrive();
    try {
      cache.put(miss, contentType, body);
    } finally {
      complete(answer);
    }
  }

  /**
   * The answer's body begins; {@link #write} and {@link #completeBody} or {@link #fail} follow.
   *
   * @param keepable whether it may be kept if nothing goes wrong
   */
  public void start(H answer, boolean keepable) {
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
      if (recordsAll) {
        Optional<String> refused = buffer.end() + length > cache.settings().maxEntry()
            ? Optional.of("too_long")
            : recording.tryReserve(length) ? Optional.empty() : Optional.of("crowded");
        if (refused.isEmpty()) {
          reservedBytes += length;
        } else {
          cache.metrics().notKept(refused.get());
          passOnly();
        }
      }
      while (!recordsAll && !abandoned && buffer.end() - slowest() > WINDOW) {
        changed.awaitUninterruptibly();
      }
      if (abandoned) {
        throw new IOException("every client has left");
      }
      buffer.append(bytes, offset, length);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** The body was whole. Ends the flight, once the answer is kept. */
  public void completeBody(String contentType) {
    arrive();
    try {
      if (recordsAll) {
        // Only this thread appends, and nobody forgets anything while it is whole.
        cache.put(miss, contentType, buffer.whole());
      }
    } finally {
      end();
    }
  }

  /** There is no answer, or no more of it. Ends the flight. */
  public void fail(Throwable why) {
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
      received = true;
    } finally {
      lock.unlock();
    }
  }

  private void end() {
    long given;
    lock.lock();
    try {
      received = true;
      over = true;
      joinable = false;
      given = reservedBytes;
      reservedBytes = 0;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    recording.release(given);
    onClosed.accept(this);
  }

  // With the lock held.

  private void passOnly() {
    recordsAll = false;
    joinable = false;
    onClosed.accept(this);
  }

  /**
   * Whether the stream's last event is here, and only the end of the body is not. Many clients leave then: they have
   * all they wanted, and the answer is whole.
   */
  private boolean isDelivered() {
    return recordsAll && cache.isComplete(buffer.last(TAIL));
  }

  private long slowest() {
    long slowest = buffer.end();
    for (Subscriber seat : subscribers) {
      slowest = Math.min(slowest, seat.offset);
    }
    return slowest;
  }

  /** A client's place. Its methods are for the client's own thread, but for {@link #cancel}. */
  public final class Subscriber {
    private final boolean leader;
    /** How much of the body has gone to the client. Guarded by the lock. */
    private long offset;

    private Subscriber(boolean leads) {
      this.leader = leads;
    }

    /** Whether it is this client's to have the answer got. */
    public boolean isLeader() {
      return leader;
    }

    /** The flight. */
    public SharedResponse<H> response() {
      return SharedResponse.this;
    }

    /** Whether {@link #copyTo} gives the body; otherwise the head says everything. Known with the head. */
    public boolean isStreamed() {
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
    public @Nullable H awaitHead() throws InterruptedException {
      lock.lock();
      try {
        while (head == null && !over && subscribers.contains(this)) {
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
    public void copyTo(ByteSink client) throws IOException {
      try {
        for (AnswerBuffer.Slice next = next(); next != null; next = next()) {
          client.write(next.bytes(), next.from(), next.length());
          sent(next.length());
        }
      } finally {
        cancel();
      }
    }

    private AnswerBuffer.@Nullable Slice next() throws IOException {
      lock.lock();
      try {
        while (offset == buffer.end() && !over && subscribers.contains(this)) {
          changed.awaitUninterruptibly();
        }
        if (offset < buffer.end() && subscribers.contains(this)) {
          return buffer.from(offset);
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
        if (!recordsAll) {
          buffer.discardBefore(slowest());
          changed.signalAll();
        }
      } finally {
        lock.unlock();
      }
    }

    /** Ends the subscription. Idempotent; any thread; does not block. */
    public void cancel() {
      boolean last = false;
      lock.lock();
      try {
        if (!subscribers.remove(this)) {
          return;
        }
        if (!leader) {
          cache.metrics().sharing(false);
        }
        if (subscribers.isEmpty() && !received && !isDelivered()) {
          abandoned = true;
          joinable = false;
          last = true;
        }
        changed.signalAll();
      } finally {
        lock.unlock();
      }
      if (last) {
        cancellation.cancel();
      }
    }
  }
}
