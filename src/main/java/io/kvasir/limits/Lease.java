package io.kvasir.limits;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A node's lease of a part of one quota. Requests take from it and give back, from any thread, without a lock and
 * without allocation; everything else is for the thread that renews it.
 */
final class Lease {
  private static final long NOBODY = Long.MAX_VALUE;

  private final AtomicLong available = new AtomicLong();
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicLong leastWaiting = new AtomicLong(NOBODY);

  /** Whether the owner was last found to have too little, so that requests need not ask for a while. */
  private final AtomicBoolean exhausted = new AtomicBoolean();

  private volatile Quota quota;

  /** What the owner, or the node's own share in its place, granted last; null before the first. */
  private volatile @Nullable LeaseGrant last;

  private volatile long target;
  private volatile long exhaustedUntil;
  private volatile long exhaustedFor;

  private long granted;
  private long uncounted;
  private long acknowledged;
  private @Nullable Stamp ownerStamp;

  /** The report that was sent last: grants are in addition to it. */
  private @Nullable LeaseReport sent;

  Lease(Quota quota) {
    this.quota = quota;
  }

  Quota quota() {
    return quota;
  }

  void setQuota(Quota other) {
    quota = other;
  }

  /** What can be taken without asking; below 0 when requests used more than was reserved for them. */
  long available() {
    return available.get();
  }

  /**
   * Takes units. More than the quota's burst is taken when the burst is there, and leaves a debt: otherwise it could
   * never be had.
   */
  boolean take(long units) {
    long needed = needed(units);
    long current = available.get();
    while (current >= needed) {
      if (available.compareAndSet(current, current - units)) {
        return true;
      }
      current = available.get();
    }
    return false;
  }

  /** What has to be there for units to be taken. */
  long needed(long units) {
    return Math.min(units, quota.burst());
  }

  /** Gives units back; below 0, takes them whether or not they are there. */
  void put(long units) {
    available.addAndGet(units);
  }

  /** What all nodes together have left, as far as this one knows; not above the amount. */
  long remaining(long nowMillis) {
    LeaseGrant latest = last;
    long amount = quota.amount();
    long level = latest == null ? amount : Bucket.levelAt(latest.quota(), latest.stamp(), nowMillis);
    return Math.min(amount, level + available.get());
  }

  /** How long it takes until units are there, in milliseconds, if others use nothing. */
  long millisUntil(long needed, long nowMillis) {
    LeaseGrant latest = last;
    return Bucket.millisUntil(latest == null ? quota : latest.quota(), remaining(nowMillis), needed, nowMillis);
  }

  /** Whether it should be renewed before it runs out. */
  boolean isLow() {
    return available.get() < target / 2;
  }

  /** Whether more is unused than a node should keep from the others. */
  boolean isExcessive() {
    return available.get() > 2 * target;
  }

  /** Counts a request that waits for units. */
  void startWaiting(long needed) {
    waiting.addAndGet(needed);
    leastWaiting.accumulateAndGet(needed, Math::min);
  }

  /** Ends the wait of a request. */
  void stopWaiting(long needed) {
    waiting.addAndGet(-needed);
  }

  /** Whether this much is not to be had, as was found a moment ago. */
  boolean isExhausted(long needed, long nanos) {
    return exhausted.get() && needed >= exhaustedFor && nanos - exhaustedUntil < 0;
  }

  /** Remembers that this much is not to be had before a moment. */
  void exhaust(long needed, long untilNanos) {
    exhaustedFor = needed;
    exhaustedUntil = untilNanos;
    exhausted.set(true);
  }

  /** Lowers what is unused to {@code most}; the next report returns the rest. */
  void returnAbove(long most) {
    long keep = Math.max(0, most);
    long current = available.get();
    while (current > keep) {
      if (available.compareAndSet(current, keep)) {
        granted -= current - keep;
        return;
      }
      current = available.get();
    }
  }

  /** How much to keep: nothing without requests lately. */
  long kept(boolean active) {
    return Math.max(active ? 2 * target : 0, waiting.get());
  }

  /** Whether it holds something of the quota, or owes something. */
  boolean isHeld() {
    return available.get() != 0 || (quota.dimension() == Dimension.CONCURRENT && granted != 0);
  }

  /** Whether it is of a budget of which, as far as this node knows, something is used in the present window. */
  boolean isBudgetUsed(long nowMillis) {
    Stamp known = ownerStamp;
    return known != null
        && quota.dimension() == Dimension.BUDGET
        && known.level() < quota.amount()
        && known.asOf() / quota.windowMillis() == nowMillis / quota.windowMillis();
  }

  /** The report to an owner. */
  LeaseReport report(boolean active) {
    LeaseReport report =
        new LeaseReport(quota, granted, available.get(), need(active), uncounted, acknowledged, ownerStamp);
    sent = report;
    return report;
  }

  /** Takes an owner's answer to the last report. */
  void accept(LeaseGrant grant) {
    LeaseReport report = sent;
    if (report == null) {
      return;
    }
    sent = null;
    long given = grant.granted() - report.granted();
    granted += given;
    acknowledged = Math.max(acknowledged, report.uncounted());
    ownerStamp = grant.stamp();
    last = grant;
    target = grant.target();
    exhausted.set(false);
    available.addAndGet(given);
  }

  /**
   * The report to the node's own share, in which what it gave itself counts as granted.
   *
   * @param parts how many nodes the quota is divided by
   */
  LeaseReport shareReport(int parts, boolean active) {
    Stamp known = ownerStamp;
    // Of what was left the node has its part; slots are divided as a whole, since all of them come back.
    Stamp part = known == null || quota.dimension() == Dimension.CONCURRENT
        ? null
        : new Stamp(known.owner(), known.asOf(), known.level() / parts);
    return new LeaseReport(
        quota.share(parts), granted + uncounted, available.get(), need(active), 0, 0, part);
  }

  /** Takes what the node gives itself. */
  void acceptShare(LeaseReport report, LeaseGrant grant) {
    long given = grant.granted() - report.granted();
    if (quota.dimension() == Dimension.CONCURRENT) {
      granted += given;
    } else {
      uncounted += given;
    }
    last = grant;
    target = grant.target();
    exhausted.set(false);
    available.addAndGet(given);
  }

  private LeaseReport.Need need(boolean active) {
    long least = leastWaiting.getAndSet(NOBODY);
    long together = waiting.get();
    return new LeaseReport.Need(active || together > 0, together, together == 0 || least == NOBODY ? 0 : least);
  }
}
