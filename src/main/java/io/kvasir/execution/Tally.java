package io.kvasir.execution;

/**
 * What a request has taken so far.
 *
 * @param tries workers it was sent to, the one under way included
 * @param decideNanos spent in deciding
 */
record Tally(int tries, long decideNanos) {
  static final Tally NONE = new Tally(0, 0);

  Tally tried() {
    return new Tally(tries + 1, decideNanos);
  }

  Tally decided(long nanos) {
    return new Tally(tries, decideNanos + nanos);
  }
}
