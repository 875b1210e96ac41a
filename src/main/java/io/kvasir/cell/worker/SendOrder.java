package io.kvasir.cell.worker;

import io.kvasir.index.Chain;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The requests that have been decided to go to one worker and that others have to wait for, in the order of their
 * decisions. A request that counts on blocks which an earlier one is to compute is written after that one: the engine
 * would otherwise find nothing where both were predicted the opposite, and the earlier one's share would be its own.
 * Where the engine shares blocks only {@linkplain io.kvasir.cell.events.EventState#onceComputed once it has computed
 * them}, it is written after that: it would be computed beside the earlier one, all of it.
 *
 * <p>Only requests with the same prefix wait, and only while it is not confirmed. Of more than {@value #SLOTS} at once
 * the oldest are forgotten: nobody waits for them. Thread-safe; nothing locks but a wait, what ends it, and an inquiry.
 */
public final class SendOrder {
  private static final int SLOTS = 256;

  private final AtomicReferenceArray<@Nullable Place> slots = new AtomicReferenceArray<>(SLOTS);
  private final AtomicLong decided = new AtomicLong();

  /** Adds a request of a prompt, which is being decided: before its blocks are predicted, so that nobody misses it. */
  public Place add(Chain prompt) {
    Place request = new Place(decided.getAndIncrement(), prompt);
    slots.set(slot(request.number), request);
    return request;
  }

  private static int slot(long number) {
    return (int) (number % SLOTS);
  }

  /** A request's place, until those that count on its blocks may follow. */
  public final class Place {
    private final long number;
    private final Chain prompt;
    private volatile boolean left;
    private volatile boolean awaited;

    /** Finds out whether it is sent where that happens elsewhere. Guarded by this. */
    private @Nullable Runnable inquiry;

    /** Guarded by this. */
    private boolean inquired;

    private Place(long number, Chain prompt) {
      this.number = number;
      this.prompt = prompt;
    }

    /** Those that count on its blocks may follow, or it will never compute them. Idempotent. */
    public void leave() {
      if (left) {
        return;
      }
      left = true;
      slots.compareAndSet(slot(number), this, null);
      if (awaited) {
        synchronized (this) {
          notifyAll();
        }
      }
    }

    /**
     * Waits until the requests that were decided before this one and have its prompt up to {@code block}, that one
     * included, have left.
     *
     * @param nanos how long at most, for all of them together
     * @return whether they have
     * @throws InterruptedException when the thread is interrupted while it waits
     */
    public boolean awaitEarlier(int block, long nanos) throws InterruptedException {
      long begun = 0;
      for (Place other = earlier(oldest(), block); other != null; other = earlier(other.number + 1, block)) {
        long now = System.nanoTime();
        begun = begun == 0 ? now : begun;
        if (!other.await(nanos - (now - begun))) {
          return false;
        }
      }
      return true;
    }

    /**
     * Has those that {@link #awaitEarlier} waits for leave as soon as they are sent, where another node sends them,
     * too.
     *
     * @return whether there are any
     */
    public boolean inquireEarlier(int block) {
      boolean any = false;
      for (Place other = earlier(oldest(), block); other != null; other = earlier(other.number + 1, block)) {
        other.inquire();
        any = true;
      }
      return any;
    }

    /**
     * Another node sends it: {@code inquiry} has that node say when it is.
     *
     * @param inquiry run when somebody first waits for that, by their thread or by this one; it does not block
     */
    public void onAwaited(Runnable inquiry) {
      boolean late;
      synchronized (this) {
        this.inquiry = inquiry;
        late = inquired;
      }
      if (late) {
        inquiry.run();
      }
    }

    private void inquire() {
      Runnable first;
      synchronized (this) {
        first = inquired ? null : inquiry;
        inquired = true;
      }
      if (first != null) {
        first.run();
      }
    }

    /** Whether there are requests that {@link #awaitEarlier} waits for. */
    public boolean hasEarlier(int block) {
      return earlier(oldest(), block) != null;
    }

    private long oldest() {
      return Math.max(0, number - SLOTS + 1);
    }

    /** The first request from that number on that this one waits for; null when there is none. */
    private @Nullable Place earlier(long from, int block) {
      for (long earlier = from; earlier < number; earlier++) {
        Place other = slots.get(slot(earlier));
        if (other != null && other.number < number && other.shares(prompt, block)) {
          return other;
        }
      }
      return null;
    }

    private boolean shares(Chain other, int block) {
      // A hash stands for its block and all before it.
      return block < Math.min(prompt.length(), other.length()) && prompt.hashes()[block] == other.hashes()[block];
    }

    private synchronized boolean await(long nanos) throws InterruptedException {
      awaited = true;
      long end = System.nanoTime() + nanos;
      for (long rest = nanos; !left && rest > 0; rest = end - System.nanoTime()) {
        TimeUnit.NANOSECONDS.timedWait(this, rest);
      }
      return left;
    }
  }
}
