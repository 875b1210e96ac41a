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
 * A response in flight from a worker to every client that requested it: one for each request, or for all identical ones
 * that come while it lasts. Each client has a {@link Subscriber}. The worker's side runs on a thread of its own and
 * belongs to none of the clients: one that is slow or cancels holds up no other, and only when the last has cancelled
 * is the {@link #cancellation} cancelled.
 *
 * <p>The answer is written down as it comes; each client is sent it at its own pace from there. While it may be kept it
 * is written down whole, and clients may still join. When it becomes too long for that, or is none to keep, it goes on
 * with a window: what every client has is let go, and the worker waits for the slowest. Thread-safe.
 *
 * <p>An answer to keep is kept before any client learns that it has come to its end: one that has it whole and
 * requests it again gets it from the cache. For that a miss waits for the store once more, which it has done when it
 * was looked up.
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
  /** Whether the worker has sent everything: cancelling stops nothing any more. */
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

  /** The subscriber whose request it is. */
  Subscriber firstSubscriber() {
    return add(true);
  }

  private Subscriber add(boolean leader) {
    Subscriber subscriber = new Subscriber(leader);
    subscribers.add(subscriber);
    return subscriber;
  }

  /**
   * The result of an attempt to join: a subscriber, none because there are too many, or none because it is too late.
   */
  record JoinResult<H>(SharedResponse<H>.@Nullable Subscriber subscriber, boolean full) {}

  JoinResult<H> subscribe(long mark, int maxWaiters) {
    lock.lock();
    try {
      if (!joinable || abandoned || mark != miss.flushCount()) {
        return new JoinResult<>(null, false);
      }
      return subscribers.size() > maxWaiters ? new JoinResult<>(null, true) : new JoinResult<>(add(false), false);
    } finally {
      lock.unlock();
    }
  }

  // The worker's side: one thread.

  /**
   * The answer that has been cached since this request missed it; null when a worker has to answer. Called once, before
   * that.
   */
  public Lookup.@Nullable Hit recheckCache() {
    Lookup.Hit hit = miss.refresh() || !cache.settings().sharing().enabled() ? null : cache.recheck(miss);
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

  /** Completes the response with an answer that is fit for every client. */
  public void complete(H answer) {
    lock.lock();
    try {
      head = answer;
    } finally {
      lock.unlock();
    }
    end();
  }

  /** Completes the response with an answer that may be kept, once it is. */
  public void complete(H answer, String contentType, byte[] body) {
    markReceived();
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
        stopRecording();
      }
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes a part of the body; waits only when nothing is kept and a client is slow. The array is free again on return.
   *
   * @throws IOException when every client has cancelled
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
          stopRecording();
        }
      }
      while (!recordsAll && !abandoned && buffer.end() - slowest() > WINDOW) {
        changed.awaitUninterruptibly();
      }
      if (abandoned) {
        throw new IOException("every client has cancelled");
      }
      buffer.append(bytes, offset, length);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Completes the response whose body was whole, once the answer is kept. */
  public void completeBody(String contentType) {
    markReceived();
    try {
      if (recordsAll) {
        // Only this thread appends, and nothing is discarded while it is whole.
        cache.put(miss, contentType, buffer.whole());
      }
    } finally {
      end();
    }
  }

  /** Completes the response without an answer, or without the rest of it. */
  public void fail(Throwable why) {
    lock.lock();
    try {
      failure = why;
    } finally {
      lock.unlock();
    }
    end();
  }

  private void markReceived() {
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

  private void stopRecording() {
    recordsAll = false;
    joinable = false;
    onClosed.accept(this);
  }

  /**
   * Whether the stream's last event has come, and only the end of the body has not. Many clients disconnect then: they
   * have all they need, and the answer is whole.
   */
  private boolean isWhole() {
    return recordsAll && cache.isComplete(buffer.last(TAIL));
  }

  private long slowest() {
    long slowest = buffer.end();
    for (Subscriber subscriber : subscribers) {
      slowest = Math.min(slowest, subscriber.offset);
    }
    return slowest;
  }

  /** A client's place. Its methods are for the client's own thread, but for {@link #cancel}. */
  public final class Subscriber {
    private final boolean leader;
    /** How much of the body the client has. Guarded by the lock. */
    private long offset;

    private Subscriber(boolean leader) {
      this.leader = leader;
    }

    /** Whether it is this client's to have the answer got. */
    public boolean isLeader() {
      return leader;
    }

    public SharedResponse<H> response() {
      return SharedResponse.this;
    }

    /** Whether {@link #copyTo} gives the body; otherwise the head is the whole answer. Known with the head. */
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
     * @return null when this client has cancelled, or nothing came
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

    /** Why nothing came, null when something did, or when all had cancelled. */
    public @Nullable Throwable failure() {
      lock.lock();
      try {
        return failure;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Writes the body to the client as it comes, and ends the subscription.
     *
     * @throws IOException when the worker cut it short or the client disconnected
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
          throw new IOException(failure == null ? "the client disconnected" : "the answer was cut short", failure);
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

    /** Ends the subscription of a client that is to get an answer of its own. */
    public void bypass(Bypass why) {
      cache.metrics().bypassed(why);
      cancel();
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
        if (subscribers.isEmpty() && !received && !isWhole()) {
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
