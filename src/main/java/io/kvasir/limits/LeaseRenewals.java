package io.kvasir.limits;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The renewals of a node's leases: one at a time for each account, after a request that needs it and again and again
 * while something is held, or is used of a budget. An owner that does not answer in time is replaced by the node's own
 * share until it answers. One thread at a time.
 */
final class LeaseRenewals {
  private static final Logger LOG = LoggerFactory.getLogger(LeaseRenewals.class);

  /** How often an owner hears of what is held, well within {@link LimitLedger#LEASE}. */
  private static final long INTERVAL_NANOS = Duration.ofSeconds(1).toNanos();

  /** After this long without a report the owner, too, has forgotten what the node held. */
  private static final long IDLE_NANOS = LimitLedger.LEASE.multipliedBy(2).toNanos();

  /**
   * How often an owner hears of used budgets whose callers send nothing: so long, at most, a next owner that has heard
   * of nothing takes them for whole.
   */
  private static final long REMINDER_NANOS = Duration.ofSeconds(30).toNanos();

  /** The way to the owners of limits. */
  @FunctionalInterface
  interface Owners {
    /** Sends a report, whose answer comes to {@link #answered}, or is lost. */
    void send(String limit, long sequence, List<LeaseReport> reports);
  }

  /** The renewals of one account. */
  private static final class Renewal {
    final Account account;
    long sequence;
    long sentAt;

    /** The leases that were reported, null when no answer is awaited. */
    Lease @Nullable [] reported;

    /** Completes when the answer is there. */
    CompletableFuture<Void> answer = new CompletableFuture<>();

    /** Whether another is asked for since. */
    boolean again;

    /** Whether it is kept for a used budget alone. */
    boolean idle;

    /** In the owner's place while it does not answer. */
    @Nullable LimitLedger share;

    Renewal(Account account) {
      this.account = account;
    }
  }

  private final Owners owners;
  private final Predicate<Account> idle;
  private final IntSupplier nodes;
  private final Duration ownerTimeout;
  private final LimitMetrics metrics;
  private final NanoClock nanos;
  private final InstantSource clock;
  private final Map<String, Renewal> renewals = new HashMap<>();
  private int lastNodes = 1;

  /** Accounts whose limits are kept by the node's own share. */
  private int shares;

  /** One count for all accounts: the reports of one that was forgotten in between are not taken for old ones. */
  private long sequence;

  /**
   * The renewals of a node.
   *
   * @param idle takes accounts that hold nothing and have not been used for long; whether they are remembered
   * @param nodes how many nodes there are
   * @param ownerTimeout after which an owner counts as one that does not answer
   */
  LeaseRenewals(
      Owners owners,
      Predicate<Account> idle,
      IntSupplier nodes,
      Duration ownerTimeout,
      LimitMetrics metrics,
      NanoClock nanos,
      InstantSource clock) {
    this.owners = owners;
    this.idle = idle;
    this.nodes = nodes;
    this.ownerTimeout = ownerTimeout;
    this.metrics = metrics;
    this.nanos = nanos;
    this.clock = clock;
  }

  /** Renews an account's leases, after the renewal in progress if there is one. */
  void renew(Account account) {
    Renewal renewal = renewals.get(account.id());
    if (renewal == null || renewal.account != account) {
      renewal = new Renewal(account);
      renewals.put(account.id(), renewal);
    }
    renewal.idle = false;
    if (renewal.share != null) {
      takeShare(renewal.share, account, account.beginRenewal());
    } else if (renewal.reported != null) {
      renewal.again = true;
    } else {
      begin(renewal);
    }
  }

  /** Takes an owner's answer; one to an earlier report than the last is of no use. */
  void answered(String limit, long answeredSequence, List<LeaseGrant> grants) {
    Renewal renewal = renewals.get(limit);
    Lease[] leases = renewal == null ? null : renewal.reported;
    if (renewal == null || leases == null || renewal.sequence != answeredSequence) {
      return;
    }
    for (LeaseGrant grant : grants) {
      for (Lease lease : leases) {
        if (lease.quota().isSameKind(grant.quota())) {
          lease.accept(grant);
        }
      }
    }
    renewal.reported = null;
    lastNodes = Math.max(1, nodes.getAsInt());
    if (renewal.share != null) {
      renewal.share = null;
      renewal.account.setOwnShare(false);
      metrics.ownShare(false);
      shares--;
      if (shares == 0) {
        LOG.info("all limits are kept by their owners again, the last were those of {}", limit);
      }
    }
    renewal.answer.complete(null);
    if (renewal.again) {
      renewal.again = false;
      begin(renewal);
    }
  }

  /**
   * Gives up asks that took too long, and reports what is held. To be called several times in the ask's time limit.
   *
   * @return whether there is anything left to check before the next {@link #renew}
   */
  boolean check() {
    long now = nanos.nanos();
    renewals.values().removeIf(renewal -> {
      long age = now - renewal.sentAt;
      if (renewal.reported != null && renewal.share == null) {
        if (age >= ownerTimeout.toNanos()) {
          giveUp(renewal);
        }
        return false;
      }
      if (age < interval(renewal)) {
        return false;
      }
      if (renewal.share == null && !renewal.account.isHeld() && !renewal.account.isActive(now)) {
        if (age < IDLE_NANOS) {
          return false;
        }
        if (!idle.test(renewal.account) || !renewal.account.hasUsedBudget(clock.millis())) {
          return true;
        }
        renewal.idle = true;
        if (age < REMINDER_NANOS) {
          return false;
        }
      }
      begin(renewal);
      return false;
    });
    return !renewals.isEmpty();
  }

  private long interval(Renewal renewal) {
    return renewal.share != null ? ownerTimeout.toNanos() : renewal.idle ? REMINDER_NANOS : INTERVAL_NANOS;
  }

  /** Reports what is held to the owner. Where the node has its own share, requests do not wait for that. */
  private void begin(Renewal renewal) {
    Account account = renewal.account;
    renewal.answer = account.beginRenewal();
    if (renewal.share != null) {
      takeShare(renewal.share, account, renewal.answer);
    }
    long now = nanos.nanos();
    boolean active = account.isActive(now);
    Lease[] leases = account.leases();
    List<LeaseReport> reports = new ArrayList<>(leases.length);
    for (Lease lease : leases) {
      lease.returnAbove(lease.kept(active));
      reports.add(lease.report(active));
    }
    renewal.reported = leases;
    renewal.sentAt = now;
    renewal.sequence = ++sequence;
    metrics.renewalStarted();
    owners.send(account.id(), renewal.sequence, reports);
  }

  /** Lets the node's own share decide. The answer may still come: then the owner does again. */
  private void giveUp(Renewal renewal) {
    Account account = renewal.account;
    lastNodes = Math.max(lastNodes, nodes.getAsInt());
    shares++;
    if (shares == 1) {
      // Of the others /ready and a metric tell: there may be thousands.
      LOG.warn("the limits of {} are kept by this node's share, 1 of {}: their owner does not answer",
          account.id(), lastNodes);
    }
    LimitLedger share = new LimitLedger("", clock.millis());
    renewal.share = share;
    account.setOwnShare(true);
    metrics.renewalUnanswered();
    metrics.ownShare(true);
    takeShare(share, account, renewal.answer);
    if (renewal.again) {
      renewal.again = false;
      takeShare(share, account, account.beginRenewal());
    }
  }

  private void takeShare(LimitLedger share, Account account, CompletableFuture<Void> answer) {
    boolean active = account.isActive(nanos.nanos());
    Lease[] leases = account.leases();
    List<LeaseReport> reports = new ArrayList<>(leases.length);
    for (Lease lease : leases) {
      reports.add(lease.shareReport(lastNodes, active));
    }
    List<LeaseGrant> grants = share.renew("", ++sequence, reports, clock.millis());
    for (int i = 0; i < leases.length; i++) {
      leases[i].acceptShare(reports.get(i), grants.get(i));
    }
    answer.complete(null);
  }
}
