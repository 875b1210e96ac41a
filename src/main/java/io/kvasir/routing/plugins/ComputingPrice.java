package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;

/**
 * The price of computing prompt tokens on a worker, in units of the time that it takes:
 *
 * <pre>kappa + backlog·S + eviction·L²/(1 − L)</pre>
 *
 * <p>S is the work that is queued at the candidates, in seconds, as a mean over them; L the share of what the worker
 * evicts that has to be computed again ({@link Candidates#evictionLoss}).
 *
 * <ul>
 *   <li>{@code kappa} (3): the price while nothing is queued. Besides its time, computing what another worker has
 *       cached fills memory with copies and evicts other blocks. 1 minimises the time to first token alone, a very high
 *       price keeps every prefix where it is cached.
 *   <li>{@code backlog} (4): what a second of work queued everywhere adds. Whatever is computed twice delays all that
 *       wait behind it, and those that come meanwhile; a fleet that is behind pays for a copy with more copies, since
 *       what it evicts is soon asked for again.
 *   <li>{@code eviction} (4): what evicting adds. A token that is computed takes another's place, which is computed
 *       again with probability L and then takes the place of a third, and so on. The first of these is what {@code
 *       kappa} is for; the rest are L² + L³ + … tokens. Where memory is too small for all, workers whose caches are
 *       lost anyway cost little and those that keep theirs much, so the prompts that have to be computed meet at a few
 *       workers and the others go on to serve from their caches.
 * </ul>
 */
record ComputingPrice(double kappa, double backlog, double eviction) {
  /**
   * The most milliseconds of a worker's queue that count: however long the queues of some are, a prefix that all ask
   * for is copied to another worker in the end.
   */
  private static final double MAX_QUEUE_MS = 5_000;

  /** The most L that counts: 18 further tokens for one. */
  private static final double MAX_LOSS = 0.95;

  static ComputingPrice of(Parameters parameters) {
    return new ComputingPrice(
        parameters.number("kappa", Candidates.COMPUTING_PRICE, 0, 1e6),
        parameters.number("backlog", 4, 0, 1e6),
        parameters.number("eviction", 4, 0, 1e6));
  }

  /**
   * Writes {@link Candidates#computingPrice}. Of what is queued it is one price for all candidates: the queue of one
   * does not make its own cache dear.
   */
  void fill(Candidates candidates) {
    double[] out = candidates.computingPrice;
    int workers = candidates.count();
    double price = workers == 0 || backlog == 0 ? kappa : kappa + backlog * queuedMs(candidates) / (1e3 * workers);
    double[] losses = candidates.evictionLoss;
    // Without a branch, and with a division for each: then they are vector instructions.
    for (int slot = 0; slot < out.length; slot++) {
      double loss = Math.min(MAX_LOSS, losses[slot]);
      out[slot] = price + eviction * loss * loss / (1 - loss);
    }
  }

  /** The sum of the queues. Four sums where all of 64 are candidates: in one each addition would wait for the last. */
  private static double queuedMs(Candidates candidates) {
    double[] queueMs = candidates.queueMs;
    double sum0 = 0;
    double sum1 = 0;
    double sum2 = 0;
    double sum3 = 0;
    for (int word = 0; word < candidates.live.length; word++) {
      int from = word << 6;
      long live = candidates.live[word];
      if (live == -1) {
        for (int slot = from; slot < from + Long.SIZE; slot += 4) {
          sum0 += counted(queueMs[slot]);
          sum1 += counted(queueMs[slot + 1]);
          sum2 += counted(queueMs[slot + 2]);
          sum3 += counted(queueMs[slot + 3]);
        }
      } else {
        for (; live != 0; live &= live - 1) {
          sum0 += counted(queueMs[from + Long.numberOfTrailingZeros(live)]);
        }
      }
    }
    return sum0 + sum1 + (sum2 + sum3);
  }

  private static double counted(double queueMs) {
    return queueMs < MAX_QUEUE_MS ? queueMs : MAX_QUEUE_MS;
  }
}
