package io.kvasir.limits;

import io.kvasir.access.Limits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A node's account of one key or tenant: a lease of each of its quotas. Thread-safe.
 */
final class Account {
  /** After this long without a request nothing is held in advance. */
  private static final long IDLE_NANOS = Duration.ofSeconds(1).toNanos();

  private final String name;
  private final Holder holder;
  private final String id;
  private final String tenant;
  private final WorkEstimate estimate = new WorkEstimate();
  private final AtomicBoolean renewalClaimed = new AtomicBoolean();

  /** Replaced by the thread that renews only. */
  private volatile CompletableFuture<Void> nextRenewal = new CompletableFuture<>();

  private volatile Limits limits = Limits.NONE;
  private volatile Lease[] leases = {};
  private volatile long usedAt;
  private volatile boolean ownShare;

  /**
   * An account without limits.
   *
   * @param tenant the name of the tenant itself, or of the key's
   */
  Account(Holder holder, String name, String tenant) {
    this.name = name;
    this.holder = holder;
    this.id = holder.label() + ":" + name;
    this.tenant = tenant;
  }

  /** Whose limits they are. */
  enum Holder {
    KEY("key"),
    TENANT("tenant");

    private final String label;

    Holder(String label) {
      this.label = label;
    }

    String label() {
      return label;
    }
  }

  /** Unique in the cluster: {@code key:…} or {@code tenant:…}. */
  String id() {
    return id;
  }

  String name() {
    return name;
  }

  Holder holder() {
    return holder;
  }

  String tenant() {
    return tenant;
  }

  WorkEstimate estimate() {
    return estimate;
  }

  /** Its leases, not to be changed. */
  Lease[] leases() {
    return leases;
  }

  /** Makes its limits these; what has been leased of those that stay is kept. */
  void setLimits(Limits changed, Duration burst) {
    if (changed.equals(limits)) {
      return;
    }
    synchronized (this) {
      if (!changed.equals(limits)) {
        List<Lease> kept = new ArrayList<>();
        for (Quota quota : Quota.of(changed, burst)) {
          Lease lease = Arrays.stream(leases)
              .filter(existing -> existing.quota().isSameKind(quota))
              .findFirst()
              .orElseGet(() -> new Lease(quota));
          lease.setQuota(quota);
          kept.add(lease);
        }
        leases = kept.toArray(Lease[]::new);
      }
      limits = changed;
    }
  }

  /** Notes that there was a request. */
  void used(long nanos) {
    if (nanos - usedAt > IDLE_NANOS / 4) {
      usedAt = nanos;
    }
  }

  /** Whether there were requests lately. */
  boolean isActive(long nanos) {
    return nanos - usedAt < IDLE_NANOS;
  }

  /** Whether it holds something that its owner should know of. */
  boolean isHeld() {
    for (Lease lease : leases) {
      if (lease.isHeld()) {
        return true;
      }
    }
    return false;
  }

  /** Whether it knows of use of a budget that its owner has to remember until the window is over. */
  boolean hasUsedBudget(long nowMillis) {
    for (Lease lease : leases) {
      if (lease.isBudgetUsed(nowMillis)) {
        return true;
      }
    }
    return false;
  }

  /** Whether a renewal has to be asked for, which none has done since the last began. */
  boolean claimRenewal() {
    return !renewalClaimed.get() && renewalClaimed.compareAndSet(false, true);
  }

  /** The next renewal to begin: completes with its answer. Those who wait have to say before what they need. */
  CompletableFuture<Void> nextRenewal() {
    return nextRenewal;
  }

  /** Begins a renewal; returns what has to be completed with its answer. */
  CompletableFuture<Void> beginRenewal() {
    renewalClaimed.set(false);
    CompletableFuture<Void> begun = nextRenewal;
    nextRenewal = new CompletableFuture<>();
    return begun;
  }

  /** Whether its owner does not answer, so that the node decides by its share. */
  boolean hasOwnShare() {
    return ownShare;
  }

  void setOwnShare(boolean own) {
    ownShare = own;
  }
}
