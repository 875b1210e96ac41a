package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.ExternalMetrics;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import java.time.Duration;

/**
 * A number that somebody outside says of each worker. {@code metric} names it: {@code waiting} and {@code kv-use} are
 * the engine's own, read from its metrics; any other is what was posted to {@code /admin/figures} by that name within
 * {@code most-age} (1 m). {@code better} (lower) says which way it points. A worker of which nothing is known counts
 * as the worst, or as {@code otherwise} where that is given.
 */
final class ExternalMetricScorer implements Scorer {
  private final String metric;
  private final Direction better;
  private final double otherwise;
  private final long mostNanos;
  private final PerMembership<ExternalMetrics.ExternalMetric[]> figures;

  ExternalMetricScorer(Parameters parameters, ExternalMetrics known) {
    this.metric = parameters.text("metric", "");
    this.better = parameters.choice("better", Direction.LOWER);
    this.otherwise = parameters.number("otherwise", Double.NaN, -1e300, 1e300);
    this.mostNanos =
        parameters
            .duration("most-age", Duration.ofMinutes(1), Duration.ofSeconds(1), Duration.ofDays(1))
            .toNanos();
    if (metric.isBlank()) {
      throw new IllegalArgumentException("it has no metric: name waiting, kv-use or one that is posted");
    }
    this.figures =
        new PerMembership<>(
            table -> {
              ExternalMetrics.ExternalMetric[] said = new ExternalMetrics.ExternalMetric[table.length];
              for (int slot = 0; slot < table.length; slot++) {
                said[slot] = known.metric(metric, table[slot] == null ? "" : table[slot].id());
              }
              return said;
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
        ExternalMetrics.ExternalMetric[] said = figures.of(candidates);
        long now = context.nanos();
        for (int slot = 0; slot < said.length; slot++) {
          double value = said[slot].value(now, mostNanos);
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
