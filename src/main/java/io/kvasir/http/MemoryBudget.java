package io.kvasir.http;

import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The memory that the requests of all clients of a node may take together: their bodies while they arrive, what is read
 * from them, and both for as long as they are being answered. Each request has an {@link Account}, which books bytes
 * before they are allocated and gives all of them back when it is closed.
 *
 * <p>A booking that does not fit waits, in order, for at most {@value #MAX_WAIT_MILLIS} ms; meanwhile its client's
 * socket is not read. Large requests may take three quarters of the budget; what is left is for small ones, those that
 * have booked at most {@value #SMALL} bytes, and a sixteenth for buffers of connections.
 *
 * <p>Bodies that hold memory while they wait for more of it could wait for each other. They do not, for every wait
 * ends. A body that is incomplete and has booked nothing for as long as a wait may last, because it waits itself or its
 * sender does, gives way to any request that has booked no more than it; to a small one, any incomplete body does. Of
 * several the largest gives way, the youngest among equals; requests whose body is complete never do. Who finds no
 * memory that way either, and is not given any in time, is refused. So bodies that are not sent to their end keep no
 * smaller request out.
 *
 * <p>Thread-safe. A booking that fits takes no lock.
 */
public final class MemoryBudget {
  /** A request that has booked no more than this is a small one, in bytes. */
  public static final int SMALL = 256 << 10;

  private static final int MAX_WAIT_MILLIS = 1000;
  private static final long MAX_WAIT_NANOS = MAX_WAIT_MILLIS * 1_000_000L;

  /** Bookings that wait at the same time; further ones are refused at once. */
  private static final int MAX_WAITING = 4096;

  private final long limit;

  /** Of the buffers for large reads, all requests, and the large ones among them. */
  private final long readingLimit;

  private final long requestsLimit;
  private final long largeLimit;
  private final NanoClock clock;
  private final AtomicLong used = new AtomicLong();
  private final AtomicLong reading = new AtomicLong();
  private final AtomicLong peak = new AtomicLong();
  private final AtomicLong numbers = new AtomicLong();

  /** Of incomplete bodies. */
  private final Set<Account> incomplete = ConcurrentHashMap.newKeySet();

  private final Counter waits;
  private final Counter refusals;

  // Guarded by this; their number can be read by any thread.
  private final Deque<Wait> small = new ArrayDeque<>();
  private final Deque<Wait> large = new ArrayDeque<>();
  private volatile int waiting;

  private record Wait(Account account, long bytes, Runnable booked, long deadline) {}

  /** A budget of so many bytes for the requests of HTTP clients. */
  public MemoryBudget(long limit, NanoClock clock, Metrics metrics) {
    this(limit, clock, metrics, "http");
  }

  /**
   * A budget of so many bytes.
   *
   * @param part of the router, in the names of its metrics
   */
  public MemoryBudget(long limit, NanoClock clock, Metrics metrics, String part) {
    String name = "kvasir_" + part + "_memory";
    this.limit = limit;
    this.readingLimit = limit / 16;
    this.requestsLimit = limit - readingLimit;
    this.largeLimit = limit - limit / 4;
    this.clock = clock;
    gauge(metrics, name + "_limit_bytes", "Memory that clients' requests may take together", () -> limit);
    gauge(metrics, name + "_used_bytes", "Memory that clients' requests have booked now", used::get);
    gauge(metrics, name + "_buffers_bytes", "Memory of connections' buffers for large reads", reading::get);
    gauge(metrics, name + "_peak_bytes", "Most memory that clients' requests have had booked", peak::get);
    waits =
        Counter.builder()
            .name(name + "_waits_total")
            .help("Request bodies that waited for memory")
            .register(metrics.registry());
    refusals =
        Counter.builder()
            .name(name + "_refusals_total")
            .help("Requests refused for want of memory: full (waited in vain), evicted (gave way to another"
                + " before its body was complete), reading (what was to be read from its body did not fit)")
            .labelNames("reason")
            .register(metrics.registry());
  }

  private static void gauge(Metrics metrics, String name, String help, LongSupplier value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .callback(callback -> callback.call((double) value.getAsLong()))
        .register(metrics.registry());
  }

  /** The whole budget, in bytes. */
  public long limit() {
    return limit;
  }

  /** The most that one request can ever book, in bytes. */
  public long largest() {
    return Math.max(largeLimit, Math.min(SMALL, requestsLimit));
  }

  /** Bytes that requests have booked now. */
  public long used() {
    return used.get();
  }

  /**
   * Books a buffer to read from a connection in large pieces, which may be done without: a sixteenth of the budget is
   * for them. To be given back by {@link #freeReading}.
   */
  public boolean tryBookReading(long bytes) {
    return take(reading, bytes, readingLimit) >= 0;
  }

  /** Why a buffer of so many bytes does not fit now, which {@link #tryBookReading} has refused. */
  public RequestMemory.Shortage shortageOfReading(long bytes) {
    return new RequestMemory.Shortage(reading.get() + bytes, readingLimit);
  }

  /** Gives a buffer's bytes back. */
  public void freeReading(long bytes) {
    reading.addAndGet(-bytes);
  }

  /**
   * An account for a new request.
   *
   * @param refused told why, on a thread of its own, when the request has to be refused before {@link
   *     Account#complete}; its bytes have been given back by then
   */
  public Account open(Consumer<RequestMemory.Shortage> refused) {
    return new Account(refused);
  }

  /** Ends the waits whose time is up, or for which there is room by now. To be called regularly. */
  public void endWaits() {
    endWaits(true);
  }

  private boolean addWait(Wait wait, boolean isSmall) {
    synchronized (this) {
      if (waiting == MAX_WAITING) {
        return false;
      }
      waiting++;
      (isSmall ? small : large).add(wait);
    }
    waits.inc();
    // What was given back in the meantime found nobody waiting.
    endWaits(true);
    return true;
  }

  private void endWaits(boolean mayMakeRoom) {
    if (waiting == 0) {
      return;
    }
    List<Wait> booked = new ArrayList<>();
    synchronized (this) {
      long now = clock.nanos();
      for (Deque<Wait> queue : List.of(small, large)) {
        for (Wait first = queue.peek(); first != null; first = queue.peek()) {
          Account account = first.account;
          if (account.take(first.bytes) || (mayMakeRoom && makeRoom(account, first.bytes))) {
            booked.add(first);
          } else if (now - first.deadline >= 0) {
            account.refuse("full", account.shortage(first.bytes));
          } else if (!account.isClosed()) {
            break;
          }
          waiting--;
          queue.remove();
        }
      }
    }
    for (Wait wait : booked) {
      Thread.startVirtualThread(wait.booked);
    }
  }

  /** Books for an account by having incomplete bodies give way; false when none does. */
  private boolean makeRoom(Account account, long bytes) {
    boolean isSmall = account.isSmallWith(bytes);
    long now = clock.nanos();
    while (!account.isClosed()) {
      Account first = null;
      for (Account other : incomplete) {
        if (other != account && (first == null || other.givesWayBefore(first, now))) {
          first = other;
        }
      }
      if (first == null || !first.givesWayTo(account, isSmall, now)) {
        return false;
      }
      first.refuse("evicted", account.shortage(bytes));
      if (account.take(bytes)) {
        return true;
      }
    }
    return false;
  }

  /** Takes bytes if no more than {@code most} are taken then; how many are, -1 when they did not fit. */
  private static long take(AtomicLong from, long bytes, long most) {
    long before = from.get();
    while (bytes <= most - before && !from.compareAndSet(before, before + bytes)) {
      before = from.get();
    }
    return bytes > most - before ? -1 : before + bytes;
  }

  private void giveBack(long bytes) {
    used.addAndGet(-bytes);
    endWaits(false);
  }

  /**
   * What one request has booked. Bytes are booked and freed by one thread at a time; {@link #close} may be called by
   * any thread, more than once.
   */
  public final class Account implements RequestMemory, AutoCloseable {
    private static final long CLOSED = Long.MIN_VALUE;

    private final AtomicLong booked = new AtomicLong();
    private final AtomicReference<@Nullable Consumer<Shortage>> refused;

    /** Its place in the order in which bodies began to be received. */
    private volatile long number;

    /** When an incomplete body last booked something, by the clock. */
    private volatile long lastBooked;

    private Account(Consumer<Shortage> refused) {
      this.refused = new AtomicReference<>(refused);
    }

    /** Bytes booked, 0 when it is closed. */
    public long booked() {
      return Math.max(0, booked.get());
    }

    /** Books bytes if they fit, without waiting; large requests that are not complete only if no other waits. */
    @Override
    public boolean tryBook(long bytes) {
      boolean isSmall = isSmallWith(bytes);
      boolean isComplete = refused.get() == null;
      if ((isSmall || isComplete || waiting == 0) && take(bytes)) {
        return true;
      }
      boolean isBooked = isSmall && makeRoom(this, bytes);
      endWaits(false);
      if (!isBooked && isComplete && !isClosed()) {
        refusals.labelValues("reading").inc();
      }
      return isBooked;
    }

    @Override
    public boolean couldBook(long bytes) {
      return booked() + bytes <= largest();
    }

    @Override
    public Shortage shortage(long bytes) {
      return new Shortage(used.get() + bytes, isSmallWith(bytes) ? requestsLimit : largeLimit);
    }

    /**
     * Books bytes, waiting for them if need be: {@code then} is run when they are booked, on a thread of its own. If
     * they never are, the request is refused.
     */
    public void book(long bytes, Runnable then) {
      if (!addWait(new Wait(this, bytes, then, clock.nanos() + MAX_WAIT_NANOS), isSmallWith(bytes))) {
        refuse("full", shortage(bytes));
      }
    }

    /** Refuses the request at once, for want of so many bytes; not when it is complete, or has been refused. */
    public void refuse(long bytes) {
      refuse("full", shortage(bytes));
    }

    /** Marks the body as incomplete: until {@link #complete}, it gives way to smaller requests. */
    public void incomplete() {
      lastBooked = clock.nanos();
      number = numbers.incrementAndGet();
      incomplete.add(this);
      if (isClosed()) {
        incomplete.remove(this);
      }
    }

    /** Marks the body as complete, and the request as one that is not refused any more; false when it has been. */
    public boolean complete() {
      incomplete.remove(this);
      return refused.getAndSet(null) != null;
    }

    @Override
    public void free(long bytes) {
      long before = booked.get();
      while (before != CLOSED && !booked.compareAndSet(before, before - Math.min(bytes, before))) {
        before = booked.get();
      }
      if (before != CLOSED) {
        giveBack(Math.min(bytes, before));
      }
    }

    /** Gives all bytes back. Idempotent. */
    @Override
    public void close() {
      refused.set(null);
      long bytes = end();
      if (bytes > 0) {
        giveBack(bytes);
      }
    }

    private void refuse(String reason, Shortage shortage) {
      Consumer<Shortage> action = refused.getAndSet(null);
      if (action != null) {
        used.addAndGet(-end());
        refusals.labelValues(reason).inc();
        Thread.startVirtualThread(() -> action.accept(shortage));
      }
    }

    private long end() {
      incomplete.remove(this);
      return Math.max(0, booked.getAndSet(CLOSED));
    }

    private boolean isClosed() {
      return booked.get() == CLOSED;
    }

    private boolean isSmallWith(long bytes) {
      return booked() + bytes <= SMALL;
    }

    private boolean hasStalled(long now) {
      return now - lastBooked >= MAX_WAIT_NANOS;
    }

    private boolean givesWayBefore(Account other, long now) {
      boolean stalled = hasStalled(now);
      if (stalled != other.hasStalled(now)) {
        return stalled;
      }
      long difference = booked() - other.booked();
      return difference > 0 || (difference == 0 && number > other.number);
    }

    private boolean givesWayTo(Account asking, boolean isSmall, long now) {
      return isClosed() || (booked() >= asking.booked() && (isSmall || hasStalled(now)));
    }

    private boolean take(long bytes) {
      long now = MemoryBudget.take(used, bytes, isSmallWith(bytes) ? requestsLimit : largeLimit);
      if (now < 0) {
        return false;
      }
      if (now > peak.get()) {
        peak.accumulateAndGet(now, Math::max);
      }
      long own = booked.get();
      while (own != CLOSED && !booked.compareAndSet(own, own + bytes)) {
        own = booked.get();
      }
      if (own == CLOSED) {
        used.addAndGet(-bytes);
        return false;
      }
      if (number != 0) {
        lastBooked = clock.nanos();
      }
      return true;
    }
  }
}
