package io.kvasir.lab;

import java.util.Arrays;

/** The outcomes of a run's requests: times and cache hits of each. The first ones may be there to warm the fleet up. */
final class Outcomes {
  private final WorkloadTrace trace;
  private final double[] arrivedMs;
  private final double[] wentMs;
  private final double[] firstMs;
  private final double[] endedMs;
  private final int[] cached;
  private final long[] computedBySlot;
  private final boolean[] warmingUp;
  private final int warmUp;
  /** The requests in the order in which they came. */
  private final int[] order;
  private int arrivals;
  private int rejected;
  private int answered;

  Outcomes(WorkloadTrace trace, LabPlan.Run run) {
    int requests = trace.requests().size();
    this.trace = trace;
    this.arrivedMs = new double[requests];
    this.wentMs = new double[requests];
    this.firstMs = new double[requests];
    this.endedMs = new double[requests];
    Arrays.fill(endedMs, Double.NaN);
    this.cached = new int[requests];
    this.computedBySlot = new long[run.machines().workers().size()];
    this.warmingUp = new boolean[requests];
    this.order = new int[requests];
    this.warmUp = (int) (run.load().conditions().warmUp() * requests);
  }

  void arrived(int request, double nowMs) {
    arrivedMs[request] = nowMs;
    wentMs[request] = nowMs;
    warmingUp[request] = arrivals < warmUp;
    order[arrivals++] = request;
  }

  /** Records that nothing holds a request back any more. */
  void went(int request, double nowMs) {
    wentMs[request] = nowMs;
  }

  void rejected(int request) {
    rejected += warmingUp[request] ? 0 : 1;
  }

  void firstToken(int request, double nowMs) {
    firstMs[request] = nowMs;
  }

  /** The time to the first token of a request that has it, in milliseconds. */
  double ttftMs(int request) {
    return firstMs[request] - arrivedMs[request];
  }

  /** The time from when nothing held it back. */
  double sentTtftMs(int request) {
    return firstMs[request] - wentMs[request];
  }

  void ended(LabSequence sequence, double nowMs) {
    endedMs[sequence.index] = nowMs;
    if (sequence.phase == LabSequence.RequestPhase.WHOLE) {
      prefilled(sequence);
    }
    answered++;
  }

  /** Records that an engine has computed a prompt. */
  void prefilled(LabSequence sequence) {
    cached[sequence.index] = sequence.cachedTokens();
    if (!warmingUp[sequence.index]) {
      computedBySlot[sequence.slot] += sequence.promptLength() - sequence.cachedTokens();
    }
  }

  /** The run's report. */
  RunReport report(LabPlan.Run run, RunReport.Engines engines, RunReport.CostEstimates estimates) {
    Slo slo = run.slo();
    int all = arrivedMs.length;
    int count = all - Math.min(arrivals, warmUp);
    double[] ttft = new double[answered];
    double[] tpot = new double[answered];
    double[] e2e = new double[answered];
    int measured = 0;
    int multiToken = 0;
    int good = 0;
    int goodAtOnce = 0;
    Fairness.Collector groups = new Fairness.Collector();
    long prompts = 0;
    long hits = 0;
    long outputs = 0;
    for (int i = 0; i < all; i++) {
      if (warmingUp[i]) {
        continue;
      }
      LabRequest request = trace.requests().get(i);
      if (Double.isNaN(endedMs[i])) {
        groups.add(request, false, Double.NaN);
        continue;
      }
      ttft[measured] = ttftMs(i);
      e2e[measured] = endedMs[i] - arrivedMs[i];
      boolean met = ttft[measured] <= slo.ttftMs();
      if (request.outputTokens() > 1) {
        tpot[multiToken] = (endedMs[i] - firstMs[i]) / (request.outputTokens() - 1);
        met &= tpot[multiToken] <= slo.tpotMs();
        multiToken++;
      }
      good += met ? 1 : 0;
      groups.add(request, met, ttft[measured]);
      goodAtOnce += met && wentMs[i] == arrivedMs[i] ? 1 : 0;
      measured++;
      prompts += request.promptTokens();
      hits += cached[i];
      outputs += request.outputTokens();
    }
    double seconds = seconds();
    return new RunReport(
        run.setup(),
        count,
        rejected,
        count == 0 ? 0 : (double) good / count,
        groups.fairness(),
        holds(goodAtOnce),
        new RunReport.CacheHits(prompts == 0 ? 0 : (double) hits / prompts, ceiling()),
        new RunReport.Latencies(
            Latency.of(ttft, measured), Latency.of(tpot, multiToken), Latency.of(e2e, measured), sessions()),
        imbalance(),
        engines,
        estimates,
        seconds > 0 ? outputs / seconds : 0);
  }

  /** That of the requests whose hits are counted. */
  private double ceiling() {
    return trace.ceiling(
        Arrays.copyOf(order, arrivals), request -> !warmingUp[request] && !Double.isNaN(endedMs[request]));
  }

  private RunReport.Holds holds(int goodAtOnce) {
    int held = 0;
    int others = 0;
    double longest = 0;
    for (int i = 0; i < arrivedMs.length; i++) {
      if (warmingUp[i]) {
        continue;
      }
      others += wentMs[i] > arrivedMs[i] ? 0 : 1;
      held += wentMs[i] > arrivedMs[i] ? 1 : 0;
      longest = Math.max(longest, wentMs[i] - arrivedMs[i]);
    }
    return new RunReport.Holds(held, longest, others == 0 ? Double.NaN : (double) goodAtOnce / others);
  }

  /** The times of the conversations whose every turn was answered. */
  private Latency sessions() {
    int[] roots = new int[arrivedMs.length];
    int[] turns = new int[roots.length];
    double[] lastMs = new double[roots.length];
    for (int i = 0; i < roots.length; i++) {
      int parent = trace.requests().get(i).parent();
      int root = parent == LabRequest.NO_PARENT ? i : roots[parent];
      roots[i] = root;
      turns[root]++;
      // NaN, when a turn was not answered, stays.
      lastMs[root] = Math.max(lastMs[root], endedMs[i]);
    }
    double[] sessions = new double[roots.length];
    int count = 0;
    for (int i = 0; i < roots.length; i++) {
      if (turns[i] > 1 && !warmingUp[i] && !Double.isNaN(lastMs[i])) {
        sessions[count++] = lastMs[i] - arrivedMs[i];
      }
    }
    return Latency.of(sessions, count);
  }

  private double seconds() {
    double first = Double.POSITIVE_INFINITY;
    double last = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < arrivedMs.length; i++) {
      if (!warmingUp[i]) {
        first = Math.min(first, arrivedMs[i]);
        last = Double.isNaN(endedMs[i]) ? last : Math.max(last, endedMs[i]);
      }
    }
    return Math.max(0, last - first) / 1e3;
  }

  private double imbalance() {
    double mean = Arrays.stream(computedBySlot).average().orElse(0);
    return mean > 0 ? Arrays.stream(computedBySlot).max().orElse(0) / mean : 1;
  }
}
