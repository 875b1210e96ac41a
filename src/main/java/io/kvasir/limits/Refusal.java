package io.kvasir.limits;

import java.time.Duration;

/**
 * The refusal of a request by a limit. Immutable.
 *
 * @param limit whose limit it is: {@code key:…} or {@code tenant:…}
 * @param quota the limit itself
 * @param used what all nodes together have used of it, as far as this one knows
 * @param requested what the request would use
 * @param resetsIn when there is enough for the request, if others use nothing; above 0
 */
public record Refusal(String limit, Quota quota, long used, long requested, Duration resetsIn) {
  /** Whose limit it is, in words: {@code key 'a'}. */
  public String holder() {
    int colon = limit.indexOf(':');
    return limit.substring(0, colon) + " '" + limit.substring(colon + 1) + "'";
  }

  /** Whether another try within minutes is of no use. */
  public boolean isTerminal() {
    return quota.dimension() == Dimension.BUDGET;
  }
}
