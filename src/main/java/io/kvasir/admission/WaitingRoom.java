package io.kvasir.admission;

import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.time.NanoClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a cell that wait for their turns, each class within its bounds of length, memory and time. A request
 * that would wait longer than its class allows, by how fast the others go now, is refused when it comes: its client can
 * still do something else with the time. Thread-safe; {@link #admit} is called by one thread at a time.
 */
public final class WaitingRoom {
  /** Requests that are looked at in vain before the round ends; those behind them may have a worker that is free. */
  private static final int MAX_HELD = 8;

  /** The same now and then, for those behind others that all wait for workers which they do not need. */
  private static final int MAX_HELD_DEEP = 256;

  private static final long DEEP_NANOS = 100_000_000;

  private static final double SHARE_CHANGE = 0.05;
  private static final long LEAST_RETRY_MILLIS = 1_000;
  private static final long UNKNOWN_RETRY_MILLIS = 3_000;
  private static final long MOST_RETRY_MILLIS = 30_000;

  private final AdmissionSettings settings;
  private final NanoClock clock;
  private final DoubleSupplier random;
  private final AdmissionMetrics metrics;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private final FairQueue<Occupant> queue;
  private final DrainRate rate = new DrainRate();
  private double uncachedShare = 1;
  private boolean closed;
  private long deepNanos;

  /** Written with the lock. */
  private volatile int length;

  /** Whether one waits for what the others wait for; written with the lock. */
  private volatile boolean line;

  /**
   * An empty room.
   *
   * @param clock measures waits
   * @param random 0 to 1, for the jitter of when to try again
   */
  public WaitingRoom(
      AdmissionSettings settings, NanoClock clock, DoubleSupplier random, AdmissionMetrics metrics) {
    this.settings = settings;
    this.clock = clock;
    this.random = random;
    this.metrics = metrics;
    this.queue = new FairQueue<>(settings);
    this.deepNanos = clock.nanos();
  }

  /** A request that waits, for the model that it names. */
  private record Occupant(Waiter waiter, String model, int promptTokens) {}

  /** A request's place in the room. */
  public final class Place {
    private final Waiting<Occupant> waiting;

    private Place(Waiting<Occupant> waiting) {
      this.waiting = waiting;
    }

    /** Gives the place up; false when it was given up or the wait has ended before. */
    public boolean leave() {
      lock.lock();
      try {
        return out(waiting);
      } finally {
        lock.unlock();
      }
    }
  }

  /** Whether nobody waits. */
  public boolean isEmpty() {
    return length == 0;
  }

  /** Whether nobody waits for a worker: those who wait do so for reasons of their own. */
  public boolean hasNoLine() {
    return !line;
  }

  /** How many wait. */
  public int length() {
    return length;
  }

  /**
   * Adds a request, unless it is refused at once or the room is closed: the waiter is notified of either before this
   * returns. One that was taken back from its worker has been let in before, and is not refused.
   *
   * @param model as it names it
   * @param promptTokens of its prompt
   * @param uncachedTokens of these, what a worker would have had to compute; 0 when that is not known
   * @return null when it does not wait
   */
  public @Nullable Place add(
      Claim claim, String model, int promptTokens, int uncachedTokens, Waiter waiter) {
    AdmissionRefusal refusal;
    lock.lock();
    try {
      refusal = closed || claim.preemptions() > 0 ? null : refusal(claim);
      if (refusal == null && !closed) {
        long now = clock.nanos();
        beginLine(now);
        long tokens = uncachedTokens > 0 ? uncachedTokens : Math.max(1, Math.round(promptTokens * uncachedShare));
        Waiting<Occupant> waiting =
            queue.add(
                claim, now - claim.waitedMillis() * 1_000_000, tokens, new Occupant(waiter, model, promptTokens));
        counted();
        return new Place(waiting);
      }
    } finally {
      lock.unlock();
    }
    if (refusal == null) {
      waiter.dismissed();
    } else {
      refuse(claim, refusal, waiter);
    }
    return null;
  }

  /**
   * Lets requests go in their order, as long as some may, and refuses those that have waited too long. To be called
   * every few milliseconds while somebody waits, and may be called when a worker has room again.
   */
  public void admit() {
    refuseLate();
    int mostHeld = begin();
    for (int held = 0; held < mostHeld; ) {
      FairQueue.Turn<Occupant> turn = next();
      if (turn == null) {
        return;
      }
      Waiter.Attempt attempt = turn.waiting().item().waiter().attempt(turn.standing());
      if (attempt instanceof Waiter.Attempt.Held inVain && !inVain.alone()) {
        held++;
      }
      attempted(turn.waiting(), attempt);
    }
  }

  /** Begins a round of attempts; returns how many may be in vain. */
  private int begin() {
    long now = clock.nanos();
    lock.lock();
    try {
      queue.beginAttempts();
      if (now - deepNanos < DEEP_NANOS) {
        return MAX_HELD;
      }
      deepNanos = now;
      return MAX_HELD_DEEP;
    } finally {
      lock.unlock();
    }
  }

  private FairQueue.@Nullable Turn<Occupant> next() {
    lock.lock();
    try {
      return queue.next(clock.nanos());
    } finally {
      lock.unlock();
    }
  }

  private void attempted(Waiting<Occupant> waiting, Waiter.Attempt attempt) {
    Claim claim = waiting.claim();
    long now = clock.nanos();
    boolean heldAnew = false;
    lock.lock();
    try {
      switch (attempt) {
        case Waiter.Attempt.Held inVain -> {
          heldAnew = queue.heldFor(waiting, inVain.reason());
          if (inVain.alone()) {
            queue.rest(waiting, now);
          } else {
            beginLine(now);
            queue.hold(waiting);
          }
          counted();
        }
        case Waiter.Attempt.Ended _ -> out(waiting);
        case Waiter.Attempt.Went(int promptTokens, int uncachedTokens) -> {
          if (line) {
            rate.add(uncachedTokens, now);
          }
          uncachedShare += SHARE_CHANGE * ((double) uncachedTokens / promptTokens - uncachedShare);
          out(waiting);
          queue.went(claim, uncachedTokens, now);
        }
      }
    } finally {
      lock.unlock();
    }
    if (attempt instanceof Waiter.Attempt.Went) {
      metrics.waited(claim.serviceClass(), now - waiting.arrivalNanos());
    } else if (heldAnew && attempt instanceof Waiter.Attempt.Held(HoldReason reason)) {
      metrics.held(claim.serviceClass(), reason);
    }
  }

  /** Takes back what a request was charged that went by its turn, for its worker does not compute it. */
  public void preempted(Claim claim, int uncachedTokens) {
    lock.lock();
    try {
      queue.charge(claim, -uncachedTokens);
    } finally {
      lock.unlock();
    }
  }

  /** Charges a request that has gone for the tokens that it has generated. */
  public void generated(Claim claim, int tokens) {
    lock.lock();
    try {
      queue.charge(claim, settings.outputCost() * tokens);
    } finally {
      lock.unlock();
    }
  }

  /** Takes a request out; false when it is out already. With the lock. */
  private boolean out(Waiting<Occupant> waiting) {
    boolean removed = queue.remove(waiting);
    counted();
    return removed;
  }

  /** Somebody gets in line: how fast requests go is measured while there is one. With the lock. */
  private void beginLine(long now) {
    if (!line) {
      rate.begin(now);
    }
  }

  /** With the lock. */
  private void counted() {
    length = queue.length();
    line = queue.hasLine();
  }

  private void refuseLate() {
    for (ServiceClass each : ServiceClass.values()) {
      long most = settings.of(each).longestWait().toNanos();
      Waiting<Occupant> late = takeLate(each, most);
      while (late != null) {
        long waited = (clock.nanos() - late.arrivalNanos()) / 1_000_000;
        refuse(
            late.claim(),
            new AdmissionRefusal(
                RefusalReason.TIMEOUT, knob(each, "longest-wait"), waited, most / 1_000_000, "ms",
                retryAfter(late.claim())),
            late.item().waiter());
        late = takeLate(each, most);
      }
    }
  }

  private @Nullable Waiting<Occupant> takeLate(ServiceClass serviceClass, long mostNanos) {
    lock.lock();
    try {
      Waiting<Occupant> oldest = queue.oldest(serviceClass);
      return oldest != null && clock.nanos() - oldest.arrivalNanos() >= mostNanos && out(oldest) ? oldest : null;
    } finally {
      lock.unlock();
    }
  }

  private void refuse(Claim claim, AdmissionRefusal refusal, Waiter waiter) {
    metrics.refused(claim.serviceClass(), refusal);
    waiter.refused(refusal);
  }

  /** Why a request may not wait, null when it may. With the lock. */
  private @Nullable AdmissionRefusal refusal(Claim claim) {
    ServiceClass its = claim.serviceClass();
    ClassSettings most = settings.of(its);
    ClassQueue<Occupant> waiting = queue.of(its);
    long retry = retryAfter(claim);
    if (waiting.lengthOf(claim.tenant()) >= most.maxTenantLength()) {
      return new AdmissionRefusal(
          RefusalReason.TENANT_QUEUE_FULL, knob(its, "max-waiting-per-tenant"),
          waiting.lengthOf(claim.tenant()) + 1, most.maxTenantLength(), "requests", retry);
    }
    if (waiting.length() >= most.maxLength()) {
      return new AdmissionRefusal(
          RefusalReason.QUEUE_FULL, knob(its, "max-waiting"), waiting.length() + 1, most.maxLength(), "requests",
          retry);
    }
    if (waiting.bytes() + claim.bytes() > most.maxBytes()) {
      return new AdmissionRefusal(
          RefusalReason.QUEUE_BYTES, knob(its, "max-bytes"), waiting.bytes() + claim.bytes(), most.maxBytes(), "bytes",
          retry);
    }
    long expected = claim.waitedMillis() + expectedMillis(claim);
    return expected > most.longestWait().toMillis()
        ? new AdmissionRefusal(
            RefusalReason.EXPECTED_WAIT, knob(its, "longest-wait"), expected, most.longestWait().toMillis(), "ms",
            retry)
        : null;
  }

  private static String knob(ServiceClass serviceClass, String name) {
    return "admission.classes." + serviceClass.label() + "." + name;
  }

  /** How long another request would wait; 0 when that is not known. With the lock. */
  private long expectedMillis(Claim claim) {
    double perSecond = rate.perSecond();
    return perSecond <= 0 ? 0 : Math.round(queue.tokensBefore(claim) / perSecond * 1e3);
  }

  private long retryAfter(Claim claim) {
    lock.lock();
    try {
      long expected = rate.perSecond() <= 0 ? UNKNOWN_RETRY_MILLIS : expectedMillis(claim);
      double jitter = 0.75 + random.getAsDouble() / 2;
      return Math.round(Math.clamp(expected, LEAST_RETRY_MILLIS, MOST_RETRY_MILLIS) * jitter);
    } finally {
      lock.unlock();
    }
  }

  /** Those that wait, by class, in the order of {@link ServiceClass}. */
  public List<ClassStatus> status() {
    lock.lock();
    try {
      long now = clock.nanos();
      List<ClassStatus> all = new ArrayList<>();
      for (ServiceClass each : ServiceClass.values()) {
        Waiting<Occupant> oldest = queue.oldest(each);
        all.add(
            new ClassStatus(
                each, queue.of(each).length(), queue.of(each).bytes(), queue.of(each).tokens(),
                oldest == null ? 0 : Math.max(0, now - oldest.arrivalNanos()) / 1_000_000,
                queue.of(each).reasons()));
      }
      return all;
    } finally {
      lock.unlock();
    }
  }

  /** Those that wait, by the models that they name. Looks at each of them. */
  public List<ModelBacklog> backlog() {
    if (isEmpty()) {
      return List.of();
    }
    Map<String, ModelBacklog> byModel = new TreeMap<>();
    lock.lock();
    try {
      long now = clock.nanos();
      for (ServiceClass each : ServiceClass.values()) {
        queue.of(each).forEach(
            waiting -> byModel.merge(waiting.item().model(), backlog(waiting, now), ModelBacklog::and));
      }
    } finally {
      lock.unlock();
    }
    return List.copyOf(byModel.values());
  }

  private static ModelBacklog backlog(Waiting<Occupant> waiting, long now) {
    Occupant its = waiting.item();
    return new ModelBacklog(
        its.model(), 1, its.promptTokens(), waiting.tokens(), waiting.isAlone() ? its.promptTokens() : 0,
        Math.max(0, now - waiting.arrivalNanos()) / 1_000_000);
  }

  /** Dismisses everybody: the cell leaves this home. Idempotent. */
  public void close() {
    List<Waiting<Occupant>> all = new ArrayList<>();
    lock.lock();
    try {
      closed = true;
      for (ServiceClass each : ServiceClass.values()) {
        for (Waiting<Occupant> oldest = queue.oldest(each); oldest != null; oldest = queue.oldest(each)) {
          out(oldest);
          all.add(oldest);
        }
      }
    } finally {
      lock.unlock();
    }
    all.forEach(waiting -> waiting.item().waiter().dismissed());
  }
}
