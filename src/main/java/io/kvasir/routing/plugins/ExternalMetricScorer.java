package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.ExternalMetrics;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import java.time.Duration;

/**
 * Score by an external metric of each worker. {@code metric} names it: {@code waiting} and {@code kv-use} are read from
 * the engine's metrics; any other is the latest value that was posted to {@code /admin/figures} under that name within
 * {@code most-age} (1 m). {@code better} (lower) is its direction. A worker without a value has the worst score, or
 * {@code otherwise} where that is configured.
 */
final class ExternalMetricScorer implements Scorer {
  private final String metric;
  private final Direction better;
  private final double otherwise;
  private final long maxAgeNanos;
  private final PerMembership<ExternalMetrics.ExternalMetric[]> metricsBySlot;

  ExternalMetricScorer(Parameters parameters, ExternalMetrics externalMetrics) {
    this.metric = parameters.text("metric", "");
    this.better = parameters.choice("better", Direction.LOWER);
    this.otherwise = parameters.number("otherwise", Double.NaN, -1e300, 1e300);
    this.maxAgeNanos =
        parameters
            .duration("most-age", Duration.ofMinutes(1), Duration.ofSeconds(1), ExternalMetrics.MOST_AGE)
            .toNanos();
    if (metric.isBlank()) {
      throw new IllegalArgumentException("it has no metric: set waiting, kv-use or the name of a posted one");
    }
    this.metricsBySlot =
        new PerMembership<>(
            table -> {
              ExternalMetrics.ExternalMetric[] bySlot = new ExternalMetrics.ExternalMetric[table.length];
              for (int slot = 0; slot < table.length; slot++) {
                bySlot[slot] = externalMetrics.metric(metric, table[slot] == null ? "" : table[slot].id());
              }
              return bySlot;
            });
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    switch (metric) {
      case "waiting" -> {
        for (int slot = 0; slot < candidates.slots(); slot++) {
          out[slot] = candidates.waiting[slot] < 0 ? otherwise : candidates.waiting[slot];
        }
      }
      case "kv-use" -> {
        for (int slot = 0; slot < candidates.slots(); slot++) {
          out[slot] = candidates.kvUse[slot] < 0 ? otherwise : candidates.kvUse[slot];
        }
      }
      default -> {
        ExternalMetrics.ExternalMetric[] values = metricsBySlot.of(candidates);
        long now = context.nanos();
        for (int slot = 0; slot < values.length; slot++) {
          double value = values[slot].value(now, maxAgeNanos);
          out[slot] = Double.isNaN(value) ? otherwise : value;
        }
      }
    }
  }

  @Override
  public Direction direction() {
    return better;
  }
}
