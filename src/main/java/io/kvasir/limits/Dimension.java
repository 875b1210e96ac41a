package io.kvasir.limits;

/** The dimension of a limit: what it counts. */
public enum Dimension {
  /** Requests in a minute. */
  REQUESTS("requests"),
  /** Tokens of work in a minute. */
  TOKENS("tokens"),
  /** Requests at a time. */
  CONCURRENT("concurrent"),
  /** Tokens of work in a longer window. */
  BUDGET("budget");

  private final String label;

  Dimension(String label) {
    this.label = label;
  }

  /** Its name in metrics and in the admin API. */
  public String label() {
    return label;
  }

  /** Whether it counts tokens of work, which are known only when a request has ended. */
  public boolean countsWork() {
    return this == TOKENS || this == BUDGET;
  }
}
