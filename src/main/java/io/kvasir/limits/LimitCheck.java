package io.kvasir.limits;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The check of requests against leases: takes what they need, and waits for an owner where a lease is short.
 * Thread-safe; neither locks nor allocates as long as leases last.
 */
final class LimitCheck {
  /** For how long an owner that had too little is not asked again: what others give back may change that. */
  private static final Duration SLOT_PAUSE = Duration.ofMillis(5);

  /** Other requests of this node may take what was granted to one that waits. */
  private static final int MAX_RENEWALS = 3;

  private static final Duration RATE_PAUSE = Duration.ofMillis(100);
  private static final Duration BUDGET_PAUSE = Duration.ofSeconds(1);

  private final LimitSettings settings;
  private final Consumer<Account> renewal;
  private final NanoClock nanos;
  private final InstantSource clock;

  /**
   * A check.
   *
   * @param renewal has the leases of an account renewed; does not wait
   */
  LimitCheck(LimitSettings settings, Consumer<Account> renewal, NanoClock nanos, InstantSource clock) {
    this.settings = settings;
    this.renewal = renewal;
    this.nanos = nanos;
    this.clock = clock;
  }

  /**
   * Takes units of all quotas that count work, or of all others; nothing of any when one has too little.
   *
   * @return the refusal by the first that has too little, null when all were taken
   */
  @Nullable Refusal take(HeldLeases held, boolean work, long units) throws InterruptedException {
    Account account = held.account();
    account.used(nanos.nanos());
    Lease[] leases = held.leases();
    boolean low = false;
    for (int i = 0; i < leases.length; i++) {
      Lease lease = leases[i];
      if (lease.quota().dimension().countsWork() == work) {
        if (!lease.take(units) && !takeFromOwner(account, lease, units)) {
          held.putFirst(i, work, units);
          return refusal(account, lease, units);
        }
        low |= lease.isLow();
      }
    }
    if (low) {
      renew(account);
    }
    return null;
  }

  /** Has leases renewed that have too little or too much. */
  void renewWhereNeeded(HeldLeases held) {
    if (held.needRenewal()) {
      renew(held.account());
    }
  }

  private void renew(Account account) {
    if (account.claimRenewal()) {
      renewal.accept(account);
    }
  }

  private boolean takeFromOwner(Account account, Lease lease, long units) throws InterruptedException {
    long needed = lease.needed(units);
    long now = nanos.nanos();
    if (lease.isExhausted(needed, now)) {
      return false;
    }
    // Twice: at the end of the first the node's own share decides.
    long deadline = now + 2 * settings.ownerTimeout().toNanos();
    lease.startWaiting(needed);
    try {
      for (int round = 0; round < MAX_RENEWALS; round++) {
        CompletableFuture<Void> answer = account.nextRenewal();
        renew(account);
        boolean answered = awaitUntil(answer, deadline);
        if (lease.take(units)) {
          return true;
        }
        if (!answered || lease.remaining(clock.millis()) < needed) {
          break;
        }
      }
    } finally {
      lease.stopWaiting(needed);
    }
    lease.exhaust(needed, nanos.nanos() + pause(lease, needed).toNanos());
    return false;
  }

  private boolean awaitUntil(CompletableFuture<Void> answer, long deadline) throws InterruptedException {
    try {
      answer.get(deadline - nanos.nanos(), TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException late) {
      return false;
    } catch (ExecutionException impossible) {
      throw new AssertionError("renewals do not fail", impossible);
    }
  }

  private Duration pause(Lease lease, long needed) {
    Duration most = switch (lease.quota().dimension()) {
      case REQUESTS, TOKENS -> RATE_PAUSE;
      case CONCURRENT -> SLOT_PAUSE;
      case BUDGET -> BUDGET_PAUSE;
    };
    Duration until = Duration.ofMillis(lease.millisUntil(needed, clock.millis()));
    return until.compareTo(most) < 0 ? until : most;
  }

  private Refusal refusal(Account account, Lease lease, long units) {
    Quota quota = lease.quota();
    long now = clock.millis();
    long used = quota.amount() - lease.remaining(now);
    long millis = Math.max(1, lease.millisUntil(lease.needed(units), now));
    return new Refusal(account.id(), quota, used, units, Duration.ofMillis(millis));
  }
}
