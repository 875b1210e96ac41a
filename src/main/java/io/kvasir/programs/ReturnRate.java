package io.kvasir.programs;

/**
 * How likely a program comes back after a turn: the share of the latest turns that were followed by another one, apart
 * for programs' first turns and later ones. Turns whose programs still think count as if they did not come back, and
 * nothing is expected before there is evidence: a guard had better not hold anybody back by mistake. Not thread-safe.
 */
final class ReturnRate {
  /** Turns after which older ones count half. */
  private static final int WINDOW = 1_000;

  /** Turns that are taken not to have been followed by others, to begin with. */
  private static final int DOUBTS = 5;

  private final int[] ended = {DOUBTS, DOUBTS};
  private final int[] returned = new int[2];

  /** Notes the end of a program's turn, its first one or a later one. */
  void ended(boolean first) {
    int kind = first ? 0 : 1;
    ended[kind]++;
    if (ended[kind] >= WINDOW) {
      ended[kind] /= 2;
      returned[kind] /= 2;
    }
  }

  /** Notes that another turn follows such a one. */
  void returned(boolean first) {
    returned[first ? 0 : 1]++;
  }

  /** The share, 0 to 1. */
  double of(boolean first) {
    int kind = first ? 0 : 1;
    return Math.min(1, (double) returned[kind] / ended[kind]);
  }
}
