package io.kvasir.routing;

/** Ranking of candidates by score, shared by pickers. */
public final class Ranking {
  private Ranking() {}

  /**
   * Writes the slots with the highest scores to {@code ranked}, best first. Of equal scores the worker with fewest
   * requests in flight is first, of equal ones of those a random one. One pass, since {@code ranked} is short.
   *
   * @return how many slots were written: all candidates, but at most {@code ranked.length}
   */
  public static int byScore(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    long seed = context.random().nextLong();
    int count = 0;
    double lowest = Double.NEGATIVE_INFINITY; // score and rank among equals of the last slot, once all are written
    long lowestTie = Long.MAX_VALUE;
    for (int word = 0; word < candidates.live.length; word++) {
      for (long bits = candidates.live[word]; bits != 0; bits &= bits - 1) {
        int slot = (word << 6) + Long.numberOfTrailingZeros(bits);
        double score = scores[slot];
        if (score < lowest || (score == lowest && tie(slot, candidates, seed) >= lowestTie)) {
          continue;
        }
        int at = count < ranked.length ? count++ : count - 1;
        while (at > 0 && before(slot, ranked[at - 1], candidates, scores, seed)) {
          ranked[at] = ranked[at - 1];
          at--;
        }
        ranked[at] = slot;
        if (count == ranked.length) {
          lowest = scores[ranked[count - 1]];
          lowestTie = tie(ranked[count - 1], candidates, seed);
        }
      }
    }
    return count;
  }

  private static boolean before(int slot, int other, Candidates candidates, double[] scores, long seed) {
    return scores[slot] != scores[other]
        ? scores[slot] > scores[other]
        : tie(slot, candidates, seed) < tie(other, candidates, seed);
  }

  /** A slot's rank among equal scores: requests in flight, then a random number. */
  private static long tie(int slot, Candidates candidates, long seed) {
    return ((long) candidates.inFlight[slot] << 32) | (shuffled(slot, seed) >>> 32);
  }

  /** A random number that stays the same for one slot within one decision (Stafford's mix 13). */
  private static long shuffled(int slot, long seed) {
    long z = seed + (slot + 1) * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
