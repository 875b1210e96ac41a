package io.kvasir.limits;

import io.kvasir.access.Caller;
import io.kvasir.limits.LimitStatus.QuotaStatus;
import io.kvasir.telemetry.Problem;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Admits requests within the limits of their callers, which hold over all nodes together. Thread-safe. A caller without
 * limits costs a look at its limits; one with limits neither a lock nor a message as long as the node's leases last.
 */
public final class Limiter {
  private static final Admission UNLIMITED = new Admission.Admitted(LimitReservation.NONE);

  private final LimitSettings settings;
  private final LimitCheck check;
  private final LimitMetrics metrics;
  private final InstantSource clock;
  private final LimitReservation.Services services;
  private final Accounts accounts;

  Limiter(
      LimitSettings settings, Accounts accounts, LimitCheck check, LimitMetrics metrics, InstantSource clock) {
    this.settings = settings;
    this.accounts = accounts;
    this.check = check;
    this.metrics = metrics;
    this.clock = clock;
    metrics.watch(accounts, clock);
    this.services = new LimitReservation.Services(settings, check, metrics);
  }

  /**
   * Admits a request: counts it, and gives it one of the caller's slots. Its work is reserved later, when its prompt is
   * known. Waits for an owner for a moment if this node's lease is short.
   */
  public Admission admit(Caller caller) throws InterruptedException {
    if (isUnlimited(caller)) {
      return UNLIMITED;
    }
    List<HeldLeases> held = new ArrayList<>(2);
    for (Account account : accounts.of(caller)) {
      HeldLeases leases = new HeldLeases(account, account.leases());
      Refusal refusal = check.take(leases, false, 1);
      if (refusal != null) {
        held.forEach(taken -> taken.put(false, 1));
        return metrics.refused(account, refusal, settings.shadow()) ? new Admission.Refused(refusal) : UNLIMITED;
      }
      held.add(leases);
    }
    return new Admission.Admitted(LimitReservation.of(services, held));
  }

  /** Whether a caller has no limits. */
  public static boolean isUnlimited(Caller caller) {
    return caller.limits().isUnlimited() && caller.tenantLimits().isUnlimited();
  }

  /** How much of a caller's limit in a dimension is left, the tighter one of key and tenant; null without a limit. */
  public @Nullable QuotaStatus status(Caller caller, Dimension dimension) {
    long now = clock.millis();
    QuotaStatus tightest = null;
    for (Account account : accounts.of(caller)) {
      for (Lease lease : account.leases()) {
        if (lease.quota().dimension() == dimension) {
          QuotaStatus status = QuotaStatus.of(lease, now);
          tightest = tightest == null ? status : QuotaStatus.tighter(tightest, status);
        }
      }
    }
    return tightest;
  }

  /** The limits of every key and tenant that this node has seen, by name. */
  public List<LimitStatus> statuses() {
    long now = clock.millis();
    return accounts.all()
        .map(account -> new LimitStatus(
            account.id(),
            account.hasOwnShare(),
            Stream.of(account.leases()).map(lease -> QuotaStatus.of(lease, now)).toList()))
        .sorted(Comparator.comparing(LimitStatus::limit))
        .toList();
  }

  /** What limits do without; empty when nothing is missing. */
  public List<Problem> problems() {
    long own = accounts.all().filter(Account::hasOwnShare).count();
    return own == 0
        ? List.of()
        : List.of(Problem.warning(
            "the limits of %d keys and tenants are kept by this node's own share: their owner does not answer"
                .formatted(own),
            "see that the other nodes are up and can be reached: GET /admin/cluster"));
  }
}
