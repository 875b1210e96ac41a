package io.kvasir.cell.worker;

import io.kvasir.routing.Booking;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The load booked on one worker. Booking is one step with the check that there is room; every booking is taken back
 * exactly once, by its {@code BookedLoad}. The next worker in a slot gets a load of its own, so that the release of a
 * booking on the one before it cannot be taken from it.
 *
 * <p>Wait-free but for the compare-and-set of the first counter.
 */
public final class WorkerLoad {
  private static final VarHandle IN_FLIGHT;
  private static final VarHandle PENDING_TOKENS;
  private static final VarHandle BOOKED_MICROS;
  private static final VarHandle SETTLED_MICROS;
  private static final VarHandle CONTEXT_TOKENS;
  private static final VarHandle SILENT_MICROS;
  private static final VarHandle SILENT_UNTIL;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      IN_FLIGHT = lookup.findVarHandle(WorkerLoad.class, "inFlight", int.class);
      PENDING_TOKENS = lookup.findVarHandle(WorkerLoad.class, "pendingTokens", long.class);
      BOOKED_MICROS = lookup.findVarHandle(WorkerLoad.class, "bookedMicros", long.class);
      SETTLED_MICROS = lookup.findVarHandle(WorkerLoad.class, "settledMicros", long.class);
      CONTEXT_TOKENS = lookup.findVarHandle(WorkerLoad.class, "contextTokens", long.class);
      SILENT_MICROS = lookup.findVarHandle(WorkerLoad.class, "silentMicros", long.class);
      SILENT_UNTIL = lookup.findVarHandle(WorkerLoad.class, "silentUntil", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final int maxInFlight;
  private volatile int inFlight;
  private volatile long pendingTokens;
  private volatile long bookedMicros;
  private volatile long settledMicros;
  private volatile long contextTokens;
  private volatile long silentMicros;
  private volatile long silentUntil;

  /** Nothing is booked of at most so many requests. */
  public WorkerLoad(int most) {
    this.maxInFlight = most;
  }

  /** Books a request if fewer than the most are in flight. */
  public boolean book(Booking booking) {
    int now;
    do {
      now = inFlight;
      if (now >= maxInFlight) {
        return false;
      }
    } while (!IN_FLIGHT.compareAndSet(this, now, now + 1));
    count(booking);
    return true;
  }

  /** Takes in a request that is in flight already, even beyond the most. */
  public void add(Booking booking) {
    IN_FLIGHT.getAndAdd(this, 1);
    count(booking);
  }

  private void count(Booking booking) {
    PENDING_TOKENS.getAndAdd(this, (long) booking.uncachedTokens());
    BOOKED_MICROS.getAndAdd(this, booking.prefillMicros());
    CONTEXT_TOKENS.getAndAdd(this, (long) booking.promptTokens());
  }

  /** The prompt of a booking has been read: it is no longer pending. */
  public void settle(Booking booking) {
    PENDING_TOKENS.getAndAdd(this, -(long) booking.uncachedTokens());
    SETTLED_MICROS.getAndAdd(this, booking.prefillMicros());
  }

  /** A booking of the same prompt takes the place of one that is pending. */
  public void rebook(Booking was, Booking is) {
    PENDING_TOKENS.getAndAdd(this, (long) is.uncachedTokens() - was.uncachedTokens());
    BOOKED_MICROS.getAndAdd(this, is.prefillMicros() - was.prefillMicros());
  }

  /**
   * The answer of a booking will come as a whole: that its prompt has been read is seen at its end only, and estimated
   * until then. The worker is taken to read such prompts one after another.
   *
   * @param now in nanoseconds
   */
  public void beginSilent(Booking booking, long now) {
    long others = (long) SILENT_MICROS.getAndAdd(this, booking.prefillMicros());
    long until;
    long from;
    do {
      until = silentUntil;
      from = others > 0 && until - now > 0 ? until : now;
    } while (!SILENT_UNTIL.compareAndSet(this, until, from + 1_000 * booking.prefillMicros()));
  }

  /** Such an answer came, or never will. */
  public void endSilent(Booking booking) {
    SILENT_MICROS.getAndAdd(this, -booking.prefillMicros());
  }

  /**
   * Of {@link #queueMs}, what is probably over by now though no first token was seen: 0 while all answers are streamed.
   *
   * @param now in nanoseconds
   */
  public double silentlyReadMs(long now) {
    long silent = silentMicros;
    return silent <= 0 ? 0 : Math.max(0, silent * 1e-3 - Math.max(0, silentUntil - now) * 1e-6);
  }

  /** A booking is taken back at once: as if it had never been. */
  public void cancel(Booking booking) {
    PENDING_TOKENS.getAndAdd(this, -(long) booking.uncachedTokens());
    BOOKED_MICROS.getAndAdd(this, -booking.prefillMicros());
    release(booking);
  }

  /** A booking whose prompt has been settled is over. */
  public void release(Booking booking) {
    CONTEXT_TOKENS.getAndAdd(this, -(long) booking.promptTokens());
    IN_FLIGHT.getAndAdd(this, -1);
  }

  /** How many requests it takes at a time. */
  public int maxInFlight() {
    return maxInFlight;
  }

  /** Requests in flight. */
  public int inFlight() {
    return inFlight;
  }

  /** Uncached prompt tokens whose first token has not been seen. */
  public long pendingTokens() {
    return pendingTokens;
  }

  /** Estimated milliseconds of prefill of those. */
  public double queueMs() {
    // In this order: what is settled was booked before.
    long settled = settledMicros;
    return (bookedMicros - settled) * 1e-3;
  }

  /** Estimated milliseconds of prefill of all bookings there have been. */
  public double bookedMs() {
    return bookedMicros * 1e-3;
  }

  /** Prompt tokens of the requests in flight. */
  public long contextTokens() {
    return contextTokens;
  }
}
