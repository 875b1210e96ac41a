package io.kvasir.limits;

/**
 * An estimate of the work of one caller's requests before they run, learned from those that ended. Thread-safe; two
 * that end at the same moment may count as one.
 */
final class WorkEstimate {
  /** How much one request changes the averages. */
  private static final double NEWEST = 0.1;

  /** Tokens that an answer is expected to have before any was seen. */
  private static final double FIRST_OUTPUT = 256;

  /** Of each token of a prompt, the part that is work. */
  private volatile double promptShare = 1;

  private volatile double output = FIRST_OUTPUT;

  /** The work that a request is expected to be, 0 or more. */
  long of(Demand demand, WorkCost cost) {
    double most = demand.mostOutput();
    double tokens = demand.mostOutput() == Demand.UNBOUNDED ? output : Math.min(most, output);
    return Math.round(demand.promptTokens() * promptShare + tokens * cost.output());
  }

  /** Learns from a request that ended. */
  void learn(Work work, WorkCost cost) {
    long prompt = work.uncached() + work.cached();
    if (prompt > 0) {
      double share = (work.uncached() + work.cached() * cost.cached()) / prompt;
      double before = promptShare;
      promptShare = before + NEWEST * (share - before);
    }
    double before = output;
    output = before + NEWEST * (work.output() - before);
  }
}
