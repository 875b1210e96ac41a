package io.kvasir.lab;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What each profile's goodput is below that of the best profile under the same traffic, load, engines and options:
 * means over the seeds. A profile that is never far from the best has little regret wherever it is used.
 */
final class Regrets {
  private final Map<RunReport.RunSetup, Double> best = new HashMap<>();
  private final List<Summary> summaries;

  /** The regrets of some runs. */
  static Regrets of(List<RunReport> runs) {
    return new Regrets(Summary.of(runs));
  }

  private Regrets(List<Summary> summaries) {
    this.summaries = summaries;
    for (Summary summary : summaries) {
      best.merge(experiment(summary.first()), summary.mean(RunReport::goodput), Math::max);
    }
  }

  private static RunReport.RunSetup experiment(RunReport run) {
    return run.setup().under("").seeded(0);
  }

  /** The regret of a profile in one experiment, 0 for the best one. */
  double of(Summary summary) {
    return best.getOrDefault(experiment(summary.first()), 0.0) - summary.mean(RunReport::goodput);
  }

  /** The regret of the profile of a run, over all seeds of it. */
  double of(RunReport run) {
    RunReport.RunSetup setup = run.setup().seeded(0);
    return summaries.stream()
        .filter(summary -> summary.first().setup().seeded(0).equals(setup))
        .mapToDouble(this::of)
        .findFirst()
        .orElse(0);
  }

  /**
   * A profile's regrets over all experiments.
   *
   * @param mean their mean
   * @param worst the greatest
   */
  record Regret(double mean, double worst) {}

  /** The regrets of each profile, in the order of the runs. */
  Map<String, Regret> byProfile() {
    Map<String, Regret> regrets = new LinkedHashMap<>();
    for (Summary summary : summaries) {
      String profile = summary.first().setup().profile();
      if (!regrets.containsKey(profile)) {
        double[] all =
            summaries.stream()
                .filter(other -> other.first().setup().profile().equals(profile))
                .mapToDouble(this::of)
                .toArray();
        double worst = 0;
        double sum = 0;
        for (double one : all) {
          worst = Math.max(worst, one);
          sum += one;
        }
        regrets.put(profile, new Regret(sum / all.length, worst));
      }
    }
    return regrets;
  }

  /** How many experiments there are. */
  int experiments() {
    return best.size();
  }
}
