package io.kvasir.prompt;

import io.kvasir.http.Cancellation;
import io.kvasir.prompt.PreparationQueue.Waiter;
import io.kvasir.time.NanoClock;
import java.io.Serial;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A limiter of the large requests that are prepared (JSON, chat template, tokens) at a time. Preparing is computing,
 * and a virtual thread that computes keeps its processor until it is done: without a limit, as many prompts of
 * megabytes as there are processors would stop all that a node does. So they get all processors but one.
 *
 * <p>Requests up to {@value #SMALL_BYTES} bytes take about a millisecond and need no permit: they would wait seconds
 * behind a large one to save nothing. The others wait in a {@link PreparationQueue}, the smallest first. A large
 * request gives way to smaller ones while it is computed, too, at each {@link Permit#checkpoint}. Waiting to begin is
 * limited in time and number; a client that leaves, leaves the queue.
 *
 * <p>While a permit is free, to take it is one compare-and-set. Thread-safe.
 */
public final class PreparationLimiter {
  static final int SMALL_BYTES = 16 << 10;

  private static final int MAX_WAITING = 1024;

  /** Thrown when a request has waited too long for its turn, or too many wait. */
  public static final class OverloadException extends Exception {
    @Serial private static final long serialVersionUID = 1L;

    private final long waitedMillis;
    private final long limitMillis;

    OverloadException(String message, long waitedNanos, long limitNanos) {
      super(message, null, false, false);
      this.waitedMillis = TimeUnit.NANOSECONDS.toMillis(waitedNanos);
      this.limitMillis = TimeUnit.NANOSECONDS.toMillis(limitNanos);
    }

    /** How long the request has waited; 0 when so many waited that it was not let wait. */
    public long waitedMillis() {
      return waitedMillis;
    }

    /** How long a request may wait. */
    public long limitMillis() {
      return limitMillis;
    }
  }

  /**
   * The permission to compute for one request. Used by one thread at a time.
   */
  public final class Permit implements AutoCloseable {
    private final long bytes;
    private final Cancellation cancellation;
    private boolean held;

    private Permit(boolean held, long bytes, Cancellation cancellation) {
      this.held = held;
      this.bytes = bytes;
      this.cancellation = cancellation;
    }

    /**
     * A point at which a long computation can be interrupted: gives way here when smaller requests wait for a
     * permit.
     *
     * @throws CancellationException when the client has left
     */
    void checkpoint() {
      if (!held) {
        return;
      }
      if (cancellation.isCancelled()) {
        throw new CancellationException("the client has left");
      }
      if (smallest < bytes) {
        giveWay();
      }
    }

    private void giveWay() {
      held = false;
      Waiter waiter;
      lock.lock();
      try {
        waiter = add(bytes, true);
        free.incrementAndGet();
        grant();
      } finally {
        lock.unlock();
      }
      metrics.gaveWay();
      try {
        await(waiter, cancellation, Long.MAX_VALUE);
        held = true;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CancellationException("interrupted");
      } catch (TimeoutException e) {
        throw new AssertionError("waited for ever", e);
      }
    }

    /** Ends the computing, or the part of it before the request waits for something else. Idempotent. */
    @Override
    public void close() {
      if (held) {
        held = false;
        release();
      }
    }
  }

  private final long maxWaitNanos;
  private final NanoClock clock;
  private final PreparationMetrics metrics;
  private final AtomicInteger free;
  private final Permit unlimited;
  private final ReentrantLock lock = new ReentrantLock();
  /** Guarded by the lock. */
  private final PreparationQueue queue = new PreparationQueue();
  private volatile int waiting;
  /** Bytes of the smallest request that waits, or the greatest number. */
  private volatile long smallest = Long.MAX_VALUE;

  PreparationLimiter(PromptSettings settings, NanoClock clock, PreparationMetrics metrics) {
    this.maxWaitNanos = settings.preparationWait().toNanos();
    this.clock = clock;
    this.metrics = metrics;
    this.free = new AtomicInteger(settings.preparations());
    this.unlimited = new Permit(false, 0, Cancellation.NONE);
    metrics.waiting(() -> waiting);
  }

  /**
   * A permit for a request of {@code bytes} bytes, whose holder closes it. Waits for it.
   *
   * @param cancellation of the request, which then leaves the queue
   * @throws OverloadException when it is not the request's turn in time
   * @throws CancellationException when the client has left
   */
  public Permit acquire(long bytes, Cancellation cancellation) throws OverloadException, InterruptedException {
    if (bytes <= SMALL_BYTES) {
      return unlimited();
    }
    if (!tryTake()) {
      waitForTurn(bytes, cancellation);
    }
    return new Permit(true, bytes, cancellation);
  }

  /** A permit if there is no need to wait for it, else null. For work that can be left out. */
  @Nullable Permit tryAcquire(long bytes) {
    return bytes <= SMALL_BYTES ? unlimited()
        : tryTake() ? new Permit(true, bytes, Cancellation.NONE)
        : null;
  }

  /** The permit of small requests. */
  Permit unlimited() {
    return unlimited;
  }

  private boolean tryTake() {
    return waiting == 0 && take();
  }

  private boolean take() {
    int now = free.get();
    while (now > 0) {
      if (free.compareAndSet(now, now - 1)) {
        return true;
      }
      now = free.get();
    }
    return false;
  }

  private void waitForTurn(long bytes, Cancellation cancellation) throws OverloadException, InterruptedException {
    long since = clock.nanos();
    Waiter waiter;
    lock.lock();
    try {
      if (queue.size() >= MAX_WAITING) {
        metrics.waited(PreparationMetrics.Result.REFUSED, 0);
        throw new OverloadException(
            MAX_WAITING + " large requests wait to be prepared already", 0, maxWaitNanos);
      }
      waiter = add(bytes, false);
      // A permit that was released meanwhile.
      grant();
    } finally {
      lock.unlock();
    }
    PreparationMetrics.Result result = PreparationMetrics.Result.CANCELLED;
    try {
      await(waiter, cancellation, maxWaitNanos);
      result = PreparationMetrics.Result.PREPARED;
    } catch (TimeoutException _) {
      result = PreparationMetrics.Result.REFUSED;
      throw new OverloadException(
          "large requests waited " + TimeUnit.NANOSECONDS.toMillis(maxWaitNanos) + " ms to be prepared",
          clock.nanos() - since,
          maxWaitNanos);
    } finally {
      metrics.waited(result, clock.nanos() - since);
    }
  }

  /** Waits for the turn of a request in the queue; it has its permit unless this method throws. */
  private void await(Waiter waiter, Cancellation cancellation, long nanos)
      throws InterruptedException, TimeoutException {
    boolean permitted;
    try (Cancellation.Registration _ = cancellation.onCancelled(() -> waiter.turn().complete(false))) {
      permitted = waiter.turn().get(nanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      if (leave(waiter)) {
        throw late;
      }
      permitted = true;
    } catch (InterruptedException e) {
      if (!leave(waiter)) {
        release();
      }
      throw e;
    } catch (ExecutionException e) {
      throw new AssertionError("a turn does not fail", e);
    }
    if (!permitted) {
      leave(waiter);
      throw new CancellationException("the client has left");
    }
  }

  /** Takes a request from the queue; false when it has its permit, which is to be used or released. */
  private boolean leave(Waiter waiter) {
    if (!waiter.turn().complete(false) && waiter.turn().join()) {
      return false;
    }
    lock.lock();
    try {
      remove(waiter);
    } finally {
      lock.unlock();
    }
    return true;
  }

  private void release() {
    free.incrementAndGet();
    if (waiting > 0) {
      lock.lock();
      try {
        grant();
      } finally {
        lock.unlock();
      }
    }
  }

  /** Gives free permits to those whose turn it is. Holds the lock. */
  private void grant() {
    while (queue.size() > 0 && take()) {
      if (!queue.takeNext().turn().complete(true)) {
        // It has left.
        free.incrementAndGet();
      }
    }
    update();
  }

  private Waiter add(long bytes, boolean begun) {
    Waiter waiter = queue.add(bytes, begun);
    update();
    return waiter;
  }

  private void remove(Waiter waiter) {
    queue.remove(waiter);
    update();
  }

  private void update() {
    waiting = queue.size();
    smallest = queue.smallest();
  }
}
