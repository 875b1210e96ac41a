package io.kvasir.admission;

import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The order in which requests go that wait. The most urgent class goes first; within one the turns are those of {@link
 * ClassQueue}. So that no class starves, the request that has waited longest of a class is next when it has waited for
 * the class's time of starvation and none of its class went for as long. Not thread-safe.
 *
 * @param <T> what waits
 */
final class FairQueue<T> {
  /** How long a request is passed over that waits for a reason of its own: there may be hundreds of them. */
  static final long REST_NANOS = 200_000_000;

  private final AdmissionSettings settings;
  private final Map<ServiceClass, ClassQueue<T>> classes = new EnumMap<>(ServiceClass.class);
  private final Map<ServiceClass, Long> lastNanos = new EnumMap<>(ServiceClass.class);
  private long arrivals;
  private long attempts;
  private int length;

  FairQueue(AdmissionSettings settings) {
    this.settings = settings;
    for (ServiceClass each : ServiceClass.values()) {
      classes.put(each, new ClassQueue<>(settings.quantum()));
    }
  }

  /**
   * A request's turn.
   *
   * @param standing how it stands to the others
   */
  record Turn<T>(Waiting<T> waiting, Standing standing) {}

  int length() {
    return length;
  }

  ClassQueue<T> of(ServiceClass serviceClass) {
    ClassQueue<T> queue = classes.get(serviceClass);
    if (queue == null) {
      throw new IllegalStateException("no queue of class " + serviceClass);
    }
    return queue;
  }

  /**
   * Adds a request.
   *
   * @param arrivalNanos when it arrived, which may be long ago
   * @param tokens that its worker will have to compute, as far as is known
   */
  Waiting<T> add(Claim claim, long arrivalNanos, long tokens, T item) {
    Waiting<T> waiting = new Waiting<>(claim, arrivalNanos, arrivals++, tokens, item);
    of(claim.serviceClass()).add(waiting);
    length++;
    return waiting;
  }

  /** Takes a request out; false when it is out already. */
  boolean remove(Waiting<T> waiting) {
    if (!waiting.isInQueue()) {
      return false;
    }
    waiting.removed();
    of(waiting.claim().serviceClass()).remove(waiting);
    length--;
    return true;
  }

  /** Begins a round of attempts: nobody is held. */
  void beginAttempts() {
    attempts++;
  }

  /** Whether a request waits for what the others wait for, and not for a reason of its own. */
  boolean hasLine() {
    for (ServiceClass each : ServiceClass.values()) {
      if (of(each).length() > of(each).alone()) {
        return true;
      }
    }
    return false;
  }

  /** Notes what a request waits for; returns whether it still waits, and for something else than before. */
  boolean heldFor(Waiting<T> waiting, HoldReason reason) {
    return waiting.isInQueue() && of(waiting.claim().serviceClass()).heldFor(waiting, reason);
  }

  /** Passes over a request, and those behind it in its program, for the rest of the round. */
  void hold(Waiting<T> waiting) {
    if (waiting.isInQueue()) {
      of(waiting.claim().serviceClass()).hold(waiting, attempts);
    }
  }

  /** Passes over a request that waits for a reason of its own: those behind it do not wait for it. */
  void rest(Waiting<T> waiting, long nowNanos) {
    if (waiting.isInQueue()) {
      of(waiting.claim().serviceClass()).rest(waiting, nowNanos + REST_NANOS, attempts);
    }
  }

  /** The request of a class that has waited longest; null when none does. */
  @Nullable Waiting<T> oldest(ServiceClass serviceClass) {
    return of(serviceClass).length() == 0 ? null : of(serviceClass).oldest();
  }

  /** The next request that is not passed over; null when there is none. It stays where it is. */
  @Nullable Turn<T> next(long nowNanos) {
    Waiting<T> starving = null;
    for (ServiceClass each : ServiceClass.values()) {
      Waiting<T> oldest = of(each).length() == 0 ? null : of(each).oldest(attempts, nowNanos);
      if (oldest != null && isStarving(oldest, nowNanos) && (starving == null || oldest.compareTo(starving) < 0)) {
        starving = oldest;
      }
    }
    if (starving != null) {
      return new Turn<>(starving, new Standing(true, 0));
    }
    for (ServiceClass each : ServiceClass.values()) {
      Waiting<T> next = of(each).length() == 0 ? null : of(each).next(attempts, nowNanos);
      if (next != null) {
        return new Turn<>(next, new Standing(false, rivals(next.claim(), nowNanos)));
      }
    }
    return null;
  }

  /**
   * None where no places are kept for them. A tenant counts for as long after a request as another one of its class
   * might wait.
   */
  private int rivals(Claim claim, long nowNanos) {
    ServiceClass its = claim.serviceClass();
    return settings.keptPlaces() <= 0 ? 0 : of(its).rivals(claim, nowNanos - settings.of(its).longestWait().toNanos());
  }

  private boolean isStarving(Waiting<T> waiting, long nowNanos) {
    ServiceClass its = waiting.claim().serviceClass();
    long starvation = settings.of(its).starvation().toNanos();
    Long last = lastNanos.get(its);
    return nowNanos - waiting.arrivalNanos() >= starvation && (last == null || nowNanos - last >= starvation);
  }

  /** Notes that a request has gone, and charges for what it has to compute. */
  void went(Claim claim, double tokens, long nowNanos) {
    lastNanos.put(claim.serviceClass(), nowNanos);
    charge(claim, tokens);
  }

  /** Charges for what a request has used besides. */
  void charge(Claim claim, double tokens) {
    of(claim.serviceClass()).charge(claim, tokens);
  }

  /** Tokens that go before another request: those of more urgent classes, and of its own what its tenant waits for. */
  double tokensBefore(Claim claim) {
    double before = 0;
    for (ServiceClass each : ServiceClass.values()) {
      if (each.compareTo(claim.serviceClass()) < 0) {
        before += of(each).tokens();
      }
    }
    return before + of(claim.serviceClass()).tokensBefore(claim);
  }
}
