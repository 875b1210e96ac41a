package io.kvasir.limits;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One quota at its owner: a bucket, and what each node holds of it. A grant whose answer was lost is found in the
 * node's next report and comes back. One thread at a time.
 */
final class LimitPool {
  /** A lease in advance: a second of a rate, but at most this part of the amount. */
  private static final long TARGET_PARTS = 20;

  /** A budget's lease in advance, in parts of what is left: small, as it is of no use elsewhere meanwhile. */
  private static final long BUDGET_PARTS = 100;

  private static final long SECOND = 1000;

  /** Of what a node used of a rate while no owner answered, so much time is counted. */
  private static final long MADE_UP_FOR = 5 * SECOND;

  /**
   * What a node has.
   *
   * @param granted as in its report, with what was granted since
   * @param available what of that was unused
   * @param uncounted as in its report
   */
  private record Holding(long granted, long available, long uncounted) {}

  private final String owner;
  private final long settledAt;
  private final Bucket bucket;
  private final Map<String, Holding> holdings = new HashMap<>();

  /** The stamp of an earlier owner from which the level was counted on; null when there was none. */
  private @Nullable Stamp base;

  /** What was taken from the bucket since it was counted on from {@link #base}. */
  private long taken;

  /**
   * A quota of which nothing is known yet.
   *
   * @param settledAt when every node that holds slots has reported
   */
  LimitPool(String owner, Quota quota, long now, long settledAt) {
    this.owner = owner;
    this.settledAt = settledAt;
    this.bucket = new Bucket(quota, quota.burst(), now);
  }

  Quota quota() {
    return bucket.quota();
  }

  void resize(Quota quota) {
    if (!quota.equals(bucket.quota())) {
      bucket.resize(quota);
    }
  }

  /** Forgets a node that has not reported for long: its slots come back; how much it used of the rest is not known. */
  void forget(String node) {
    holdings.remove(node);
  }

  /** Whether nothing would be lost if nobody remembered this pool. */
  boolean isUntouched(long now) {
    bucket.refill(now, leased());
    return holdings.isEmpty() && (quota().dimension() == Dimension.CONCURRENT || bucket.level() >= quota().burst());
  }

  /** Takes a node's report and grants what it may have. */
  LeaseGrant renew(String node, LeaseReport report, long now) {
    long granted = quota().dimension() == Dimension.CONCURRENT
        ? grantSlots(node, report, now)
        : grantUnits(node, report, now);
    return new LeaseGrant(quota(), granted, target(), new Stamp(owner, now, bucket.level()));
  }

  /** How much is left. */
  Stamp stamp(long now) {
    bucket.refill(now, leased());
    return new Stamp(owner, now, bucket.level());
  }

  private long grantUnits(String node, LeaseReport report, long now) {
    continueFrom(report.stamp(), now);
    Holding before = holdings.get(node);
    holdings.put(node, new Holding(report.granted(), report.available(), report.uncounted()));
    if (before != null && before.granted() > report.granted()) {
      take(report.granted() - before.granted());
    }
    count(report.uncounted() - (before == null ? report.acknowledged() : before.uncounted()));
    bucket.refill(now, leased());
    long debt = Math.max(0, -report.available());
    long given = debt + affordable(report, bucket.level() - debt);
    take(given);
    long granted = report.granted() + given;
    holdings.put(node, new Holding(granted, report.available() + given, report.uncounted()));
    return granted;
  }

  private long grantSlots(String node, LeaseReport report, long now) {
    continueFrom(report.stamp(), now);
    holdings.put(node, new Holding(report.granted(), report.available(), 0));
    long held = holdings.values().stream().mapToLong(Holding::granted).sum();
    long unreported = base == null || now >= settledAt ? 0 : Math.max(0, quota().amount() - base.level() - held);
    long free = quota().amount() - held - unreported;
    long given = affordable(report, free);
    bucket.reset(free - given, now);
    holdings.put(node, new Holding(report.granted() + given, report.available() + given, 0));
    return report.granted() + given;
  }

  /** Goes on from what the last owner knew, if the stamp is its latest. */
  void continueFrom(@Nullable Stamp stamp, long now) {
    if (stamp == null || stamp.owner().equals(owner) || (base != null && stamp.asOf() <= base.asOf())) {
      return;
    }
    base = stamp;
    // The last owner's clock may have been ahead.
    bucket.reset(stamp.level(), Math.min(stamp.asOf(), now));
    bucket.refill(now, 0);
    bucket.subtract(taken);
  }

  /** Counts what a node gave itself. Of a rate this costs a few seconds at most: a long outage is not made up for. */
  private void count(long uncounted) {
    Quota quota = quota();
    long most = quota.dimension() == Dimension.BUDGET
        ? uncounted
        : Math.max(0, bucket.level() + quota.amount() * MADE_UP_FOR / quota.windowMillis());
    if (uncounted > 0) {
      take(Math.min(uncounted, most));
    }
  }

  private void take(long units) {
    bucket.subtract(units);
    taken += units;
  }

  /** How much of {@code free} units a node gets. */
  private long affordable(LeaseReport report, long free) {
    LeaseReport.Need need = report.need();
    long available = Math.max(0, report.available());
    long wanted = need.waiting() + (need.active() ? target() : 0) - available;
    boolean useless = need.waiting() > 0 && free + available < need.leastWaiting();
    return useless ? 0 : Math.clamp(wanted, 0, Math.max(0, free));
  }

  private long target() {
    Quota quota = bucket.quota();
    return switch (quota.dimension()) {
      case REQUESTS, TOKENS -> Math.min(quota.amount() * SECOND / quota.windowMillis(), quota.amount() / TARGET_PARTS);
      case CONCURRENT -> quota.amount() / (TARGET_PARTS * Math.max(1, holdings.size()));
      case BUDGET -> Math.max(0, bucket.level()) / (BUDGET_PARTS * Math.max(1, holdings.size()));
    };
  }

  private long leased() {
    return holdings.values().stream().mapToLong(holding -> Math.max(0, holding.available())).sum();
  }
}
