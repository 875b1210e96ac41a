package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.assertj.core.util.DoubleComparator;
import org.junit.jupiter.api.Test;

final class RegretsTest {
  @Test
  void byProfile_isWhatEachLosesToTheBestOfItsLoad() {
    Regrets regrets =
        Regrets.of(
            List.of(
                run("a", 1, 1, 0.9), run("a", 1, 2, 0.7), run("b", 1, 1, 0.6), run("b", 1, 2, 0.8),
                run("a", 2, 1, 0.2), run("b", 2, 1, 0.5)));

    assertThat(regrets.experiments()).isEqualTo(2);
    assertThat(regrets.byProfile()).containsOnlyKeys("a", "b");
    assertThat(regrets.byProfile().values())
        .extracting(Regrets.Regret::worst)
        .usingComparatorForType(new DoubleComparator(1e-12), Double.class)
        .containsExactly(0.3, 0.1);
    assertThat(regrets.byProfile().values())
        .extracting(Regrets.Regret::mean)
        .usingComparatorForType(new DoubleComparator(1e-12), Double.class)
        .containsExactly(0.15, 0.05);
    assertThat(regrets.of(run("b", 1, 2, 0.8))).as("over the seeds").isCloseTo(0.1, within(1e-12));
  }

  private static RunReport run(String profile, double scale, long seed, double goodput) {
    Latency none = Latency.of(new double[0], 0);
    return new RunReport(
        new RunReport.RunSetup("t", "e", new Pools(1, 0, 0), "off", scale, seed, "exact", "off", "", profile), 1, 0,
        goodput, new Fairness.Collector().fairness(), new RunReport.Holds(0, 0, goodput),
        new RunReport.CacheHits(0, 0), new RunReport.Latencies(none, none, none, none), 1,
        new RunReport.Engines(0, 1, 1, 0, 0), new RunReport.CostEstimates(0, 0, 1), 0);
  }
}
