package io.kvasir.limits;

import java.time.Instant;
import java.util.List;

/**
 * How much of a key's or tenant's limits is used, as far as a node knows. Immutable.
 *
 * @param limit {@code key:…} or {@code tenant:…}
 * @param ownShare whether the node's own share decides, since the limit's owner does not answer
 * @param quotas each of the limits
 */
public record LimitStatus(String limit, boolean ownShare, List<QuotaStatus> quotas) {
  /**
   * One of the limits.
   *
   * @param quota the limit itself
   * @param remaining what all nodes together have left, 0 or more
   * @param debt what was used beyond what there was, 0 or more
   * @param resetMillis how long until all of it is there again, if nothing is used
   * @param asOf when this was so
   */
  public record QuotaStatus(Quota quota, long remaining, long debt, long resetMillis, Instant asOf) {
    static QuotaStatus of(Lease lease, long now) {
      Quota quota = lease.quota();
      long remaining = lease.remaining(now);
      long millis = remaining >= quota.amount() ? 0 : lease.millisUntil(quota.amount(), now);
      return new QuotaStatus(quota, Math.max(0, remaining), Math.max(0, -remaining), millis, Instant.ofEpochMilli(now));
    }

    /** What is used of the amount. */
    public long used() {
      return quota.amount() - remaining + debt;
    }

    /** When all of it is there again, if nothing is used. */
    public Instant resetsAt() {
      return asOf.plusMillis(resetMillis);
    }

    /** Which of two has the smaller part left. */
    static QuotaStatus tighter(QuotaStatus one, QuotaStatus other) {
      double left = (double) (one.remaining - one.debt) / one.quota.amount();
      double otherLeft = (double) (other.remaining - other.debt) / other.quota.amount();
      return left <= otherLeft ? one : other;
    }
  }
}
