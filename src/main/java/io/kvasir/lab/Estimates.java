package io.kvasir.lab;

import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.EngineInstance;
import java.util.Arrays;
import java.util.List;

/**
 * How the router's estimates of a run's engines compare with what the engines are: by the time that a long prompt takes
 * each. Decisions weigh workers against each other, so an error is one against the others: an estimate that is wrong by
 * the same factor for all is wrong in its level alone.
 */
final class Estimates {
  /** A chunk of vLLM's: what most of the work is made of. */
  private static final int PROMPT_TOKENS = 8192;

  /** Estimates this near count as found. */
  private static final double NEAR = 0.1;

  private final CostModel costs;
  private final List<EngineInstance> engines;
  private final double[] trueMs;
  private long version = -1;
  private double foundMs = Double.NaN;
  private double worst = Double.NaN;
  private double level = Double.NaN;

  Estimates(CostModel costs, List<EngineInstance> engines, List<EngineChoice.Each> truth) {
    this.costs = costs;
    this.engines = List.copyOf(engines);
    CostModel table = CostModel.bundled();
    this.trueMs =
        truth.stream()
            .mapToDouble(
                each -> each.slowness() * table.of(each.model().name()).prefillMs(PROMPT_TOKENS, PROMPT_TOKENS))
            .toArray();
    look(0);
  }

  /** Compares again if anything was learnt since. */
  void look(double nowMs) {
    if (costs.version() == version) {
      return;
    }
    version = costs.version();
    double[] share = new double[trueMs.length];
    for (int slot = 0; slot < share.length; slot++) {
      share[slot] = costs.of(engines.get(slot)).prefillMs(PROMPT_TOKENS, PROMPT_TOKENS) / trueMs[slot];
    }
    double[] sorted = share.clone();
    Arrays.sort(sorted);
    level = sorted[sorted.length / 2];
    worst = Arrays.stream(share).map(each -> Math.abs(each / level - 1)).max().orElse(0);
    if (worst > NEAR) {
      foundMs = Double.NaN;
    } else if (Double.isNaN(foundMs)) {
      foundMs = nowMs;
    }
  }

  RunReport.CostEstimates report() {
    return new RunReport.CostEstimates(foundMs / 1e3, worst, level);
  }
}
