package io.kvasir.cell.worker;

import io.kvasir.index.Chain;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The requests that this node has decided to send to one worker and has not written yet, in the order of their
 * decisions. A request that counts on blocks which an earlier one is to compute is written after that one: the engine
 * would otherwise find nothing where both were predicted the opposite, and the earlier one's share would be its own.
 *
 * <p>Only requests with the same prefix wait, and only while it is not confirmed: for the time that another thread
 * needs to write a request it has just decided. Of more than {@value #PLACES} that are unwritten at once the oldest are
 * forgotten: nobody waits for them. Thread-safe; nothing locks but a wait and what ends it.
 */
public final class SendOrder {
  private static final int PLACES = 64;

  private final AtomicReferenceArray<@Nullable Unsent> places = new AtomicReferenceArray<>(PLACES);
  private final AtomicLong decided = new AtomicLong();

  /** Adds a request of a prompt, which is being decided: before its blocks are predicted, so that nobody misses it. */
  public Unsent add(Chain prompt) {
    Unsent request = new Unsent(decided.getAndIncrement(), prompt);
    places.set(place(request.number), request);
    return request;
  }

  private static int place(long number) {
    return (int) (number % PLACES);
  }

  /** A request until it is written, or will not be. */
  public final class Unsent {
    private final long number;
    private final Chain prompt;
    private volatile boolean sent;
    private volatile boolean awaited;

    private Unsent(long number, Chain prompt) {
      this.number = number;
      this.prompt = prompt;
    }

    /** The request is with the engine, or never will be. Idempotent. */
    public void sent() {
      if (sent) {
        return;
      }
      sent = true;
      places.compareAndSet(place(number), this, null);
      if (awaited) {
        synchronized (this) {
          notifyAll();
        }
      }
    }

    /**
     * Waits until the requests that were decided before this one and have its prompt up to {@code block}, that one
     * included, are sent.
     *
     * @param nanos how long at most, for all of them together
     * @return whether they are sent
     * @throws InterruptedException when the thread is interrupted while it waits
     */
    public boolean awaitEarlier(int block, long nanos) throws InterruptedException {
      long begun = 0;
      for (long earlier = Math.max(0, number - PLACES + 1); earlier < number; earlier++) {
        Unsent other = places.get(place(earlier));
        if (other == null || other.number >= number || !other.shares(prompt, block)) {
          continue;
        }
        long now = System.nanoTime();
        begun = begun == 0 ? now : begun;
        if (!other.await(nanos - (now - begun))) {
          return false;
        }
      }
      return true;
    }

    private boolean shares(Chain other, int block) {
      // A hash stands for its block and all before it.
      return block < Math.min(prompt.length(), other.length()) && prompt.hashes()[block] == other.hashes()[block];
    }

    private synchronized boolean await(long nanos) throws InterruptedException {
      awaited = true;
      long end = System.nanoTime() + nanos;
      for (long left = nanos; !sent && left > 0; left = end - System.nanoTime()) {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
      return sent;
    }
  }
}
