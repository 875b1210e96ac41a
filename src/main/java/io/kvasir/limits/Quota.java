package io.kvasir.limits;

import io.kvasir.access.Limits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * One of the limits of a key or tenant. Immutable.
 *
 * @param dimension what it counts
 * @param windowMillis for how long the amount is meant: a minute for rates, 0 for requests at a time
 * @param amount the limit, 1 or more
 * @param burst most that may be used at once after a pause: a rate's bucket size, the amount in other dimensions
 */
public record Quota(Dimension dimension, long windowMillis, long amount, long burst) {
  /** More than this in a minute is as good as no limit, and no product with a time overflows. */
  private static final long MOST = 1_000_000_000_000L;

  /** Length of the windows of rates. */
  static final long MINUTE = Duration.ofMinutes(1).toMillis();

  /**
   * The quotas that limits consist of.
   *
   * @param burst how long a rate takes to fill its bucket
   */
  static List<Quota> of(Limits limits, Duration burst) {
    List<Quota> quotas = new ArrayList<>();
    if (limits.requestsPerMinute() > 0) {
      quotas.add(rate(Dimension.REQUESTS, limits.requestsPerMinute(), burst));
    }
    if (limits.concurrent() > 0) {
      quotas.add(new Quota(Dimension.CONCURRENT, 0, limits.concurrent(), limits.concurrent()));
    }
    if (limits.tokensPerMinute() > 0) {
      quotas.add(rate(Dimension.TOKENS, limits.tokensPerMinute(), burst));
    }
    for (Limits.Budget budget : limits.budgets()) {
      long window = Math.max(1, budget.window().toMillis());
      quotas.add(new Quota(Dimension.BUDGET, window, budget.tokens(), budget.tokens()));
    }
    return quotas;
  }

  private static Quota rate(Dimension dimension, long limit, Duration burst) {
    long amount = Math.min(limit, MOST);
    double size = (double) amount * burst.toMillis() / MINUTE;
    return new Quota(dimension, MINUTE, amount, Math.max(1, Math.round(size)));
  }

  /** Whether another quota counts the same over windows of the same length, whatever its amount is. */
  boolean isSameKind(Quota other) {
    return dimension == other.dimension && windowMillis == other.windowMillis;
  }

  /** One of {@code parts} equal shares, at least 1. */
  Quota share(int parts) {
    return new Quota(dimension, windowMillis, Math.max(1, amount / parts), Math.max(1, burst / parts));
  }
}
