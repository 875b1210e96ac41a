package io.kvasir.access;

import java.time.Duration;
import java.util.List;

/**
 * The limits of a key or a tenant, over all nodes together. Immutable.
 *
 * @param requestsPerMinute requests in a minute, 0 for no limit
 * @param tokensPerMinute tokens of work in a minute, 0 for no limit
 * @param concurrent requests at a time, 0 for no limit
 * @param budgets tokens of work in longer windows
 */
public record Limits(long requestsPerMinute, long tokensPerMinute, int concurrent, List<Budget> budgets) {
  /** No limits. */
  public static final Limits NONE = new Limits(0, 0, 0, List.of());

  /** Makes the list immutable. */
  public Limits {
    budgets = List.copyOf(budgets);
  }

  /**
   * A budget.
   *
   * @param tokens tokens of work in each window, above 0
   * @param window length of the windows, which follow each other from the epoch on: 1 day is a UTC day
   */
  public record Budget(long tokens, Duration window) {}

  /** Whether there are none. */
  public boolean isUnlimited() {
    return requestsPerMinute == 0 && tokensPerMinute == 0 && concurrent == 0 && budgets.isEmpty();
  }
}
