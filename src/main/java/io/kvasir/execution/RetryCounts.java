package io.kvasir.execution;

/**
 * What a request has taken so far.
 *
 * @param tries workers it was sent to, the one under way included
 * @param decideNanos spent in deciding
 */
public record RetryCounts(int tries, long decideNanos) {
  static final RetryCounts NONE = new RetryCounts(0, 0);

  RetryCounts withTry() {
    return new RetryCounts(tries + 1, decideNanos);
  }

  RetryCounts withDecision(long nanos) {
    return new RetryCounts(tries, decideNanos + nanos);
  }
}
