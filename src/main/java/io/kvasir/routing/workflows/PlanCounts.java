package io.kvasir.routing.workflows;

import io.kvasir.routing.RoutingMetrics;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import java.util.EnumMap;
import java.util.Map;

/** One profile's counters of plans by kind, looked up once. */
final class PlanCounts {
  private final Map<PlanKind, CounterDataPoint> kinds = new EnumMap<>(PlanKind.class);

  PlanCounts(RoutingMetrics metrics, String profile) {
    for (PlanKind kind : PlanKind.values()) {
      kinds.put(kind, metrics.plans(profile, kind.label()));
    }
  }

  void count(PlanKind kind) {
    CounterDataPoint counter = kinds.get(kind);
    if (counter != null) {
      counter.inc();
    }
  }
}
