package io.kvasir.limits;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What is reserved for one request of its caller's limits. It ends once, with whichever of {@link #settle}, {@link
 * #release} and {@link #cancel} comes first; later ends do nothing. Thread-safe.
 */
public final class LimitReservation {
  /** What a request needs of the limiter. */
  record Services(LimitSettings settings, LimitCheck check, LimitMetrics metrics) {}

  private final @Nullable Services services;
  private final List<HeldLeases> held;
  private final AtomicBoolean ended = new AtomicBoolean();
  private final AtomicLong work = new AtomicLong();

  /** Whether a limit would have refused its work, were refusals more than counted: then it is not charged. */
  private volatile boolean spared;

  private LimitReservation(@Nullable Services services, List<HeldLeases> held) {
    this.services = services;
    this.held = held;
  }

  /** The reservation of a caller without limits. */
  public static final LimitReservation NONE = new LimitReservation(null, List.of());

  /** The reservation of a request that was taken from these. */
  static LimitReservation of(Services services, List<HeldLeases> held) {
    return new LimitReservation(services, held);
  }

  /**
   * Reserves the work that the request is expected to be. Once, before it is executed; waits for an owner for a moment
   * if this node's lease is short.
   *
   * @return the refusal by a limit, null when the request may go on
   */
  public @Nullable Refusal reserve(Demand demand) throws InterruptedException {
    if (services == null) {
      return null;
    }
    long expected = held.getFirst().account().estimate().of(demand, services.settings.cost());
    for (int i = 0; i < held.size(); i++) {
      Refusal refusal = services.check.take(held.get(i), true, expected);
      if (refusal != null) {
        for (int j = 0; j < i; j++) {
          held.get(j).put(true, expected);
        }
        spared = true;
        return services.metrics.refused(held.get(i).account(), refusal, services.settings.shadow()) ? refusal : null;
      }
    }
    work.set(expected);
    if (ended.get()) {
      returnWork(work.getAndSet(0));
    }
    return null;
  }

  /** Ends with the work that the request was. What it exceeds its reservation by is a debt of the caller. */
  public void settle(Work actual) {
    if (services != null && !ended.getAndSet(true)) {
      if (!spared) {
        held.getFirst().account().estimate().learn(actual, services.settings.cost());
        returnWork(work.getAndSet(0) - services.settings.cost().of(actual));
      }
      putSlots();
    }
  }

  /** Ends without work: only the request itself stays counted. */
  public void release() {
    if (services != null && !ended.getAndSet(true)) {
      returnWork(work.getAndSet(0));
      putSlots();
    }
  }

  /** Ends as if the request had not been. */
  public void cancel() {
    if (services != null && !ended.getAndSet(true)) {
      returnWork(work.getAndSet(0));
      held.forEach(HeldLeases::putRequest);
      putSlots();
    }
  }

  private void returnWork(long units) {
    if (units != 0) {
      held.forEach(leases -> leases.put(true, units));
    }
  }

  private void putSlots() {
    for (HeldLeases leases : held) {
      leases.putSlots();
      if (services != null) {
        services.check.renewWhereNeeded(leases);
      }
    }
  }
}
