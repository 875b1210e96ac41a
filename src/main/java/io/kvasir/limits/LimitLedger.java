package io.kvasir.limits;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The ledger of a limit's owner: every quota of one key or tenant, and what the nodes hold of them. Does no input or
 * output: the owner gives it reports and the time, in milliseconds since the epoch. One thread at a time.
 */
final class LimitLedger {
  /** A node that has not reported for this long holds nothing any more. */
  static final Duration LEASE = Duration.ofSeconds(5);

  /** What is known of a node's reports. */
  private record Reporter(long sequence, long reportedAt) {
    /** The same, reported at that moment if it seems to be later: the clock has been set back then. */
    Reporter notAfter(long now) {
      return reportedAt <= now ? this : new Reporter(sequence, now);
    }
  }

  private final String owner;
  private final long settledAt;
  private final Map<String, Reporter> reporters = new HashMap<>();
  private final List<LimitPool> pools = new ArrayList<>();

  /** A new owner's ledger; its id is unlike any earlier owner's. */
  LimitLedger(String owner, long now) {
    this.owner = owner;
    this.settledAt = now + LEASE.toMillis();
  }

  /**
   * Takes a node's reports and grants what it may have.
   *
   * @param sequence the number of these reports among the node's
   * @return a grant for each report, none when the node has sent later reports before
   */
  List<LeaseGrant> renew(String node, long sequence, List<LeaseReport> reports, long now) {
    Reporter before = reporters.get(node);
    if (before != null && before.sequence() >= sequence) {
      return List.of();
    }
    reporters.put(node, new Reporter(sequence, now));
    expire(now);
    List<LeaseGrant> grants = new ArrayList<>();
    for (LeaseReport report : reports) {
      LimitPool pool = pool(report.quota(), now);
      pool.resize(report.quota());
      grants.add(pool.renew(node, report, now));
    }
    return List.copyOf(grants);
  }

  /**
   * How much of a quota is left. Immutable; crosses between nodes.
   *
   * @param stamp its owner's
   */
  record Level(Quota quota, Stamp stamp) {}

  /** How much is left of every quota. */
  List<Level> levels(long now) {
    return pools.stream().map(pool -> new Level(pool.quota(), pool.stamp(now))).toList();
  }

  /** Goes on from what an earlier owner knew, as far as it is news. */
  void continueFrom(List<Level> levels, long now) {
    levels.forEach(level -> pool(level.quota(), now).continueFrom(level.stamp(), now));
  }

  /** Forgets nodes that have not reported for long. */
  void expire(long now) {
    reporters.replaceAll((_, reporter) -> reporter.notAfter(now));
    reporters.entrySet().removeIf(reporter -> {
      boolean expired = now - reporter.getValue().reportedAt() >= LEASE.toMillis();
      if (expired) {
        pools.forEach(pool -> pool.forget(reporter.getKey()));
      }
      return expired;
    });
  }

  /** Whether nothing would be lost if nobody remembered this ledger. */
  boolean isUntouched(long now) {
    return reporters.isEmpty() && pools.stream().allMatch(pool -> pool.isUntouched(now));
  }

  /** Quotas that some nodes do not know yet, or any more, keep what has been used of them. */
  private LimitPool pool(Quota quota, long now) {
    for (LimitPool pool : pools) {
      if (pool.quota().isSameKind(quota)) {
        return pool;
      }
    }
    LimitPool added = new LimitPool(owner, quota, now, settledAt);
    pools.add(added);
    return added;
  }
}
