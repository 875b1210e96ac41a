package io.kvasir.app.monitoring;

import io.prometheus.metrics.model.registry.MetricType;
import java.util.Locale;
import java.util.Set;

/**
 * A metric as a node registers it.
 *
 * @param name as it is exposed, {@code _total} of counters included
 * @param type counter, gauge, histogram …
 * @param labels sorted by name
 * @param help its description
 */
record MetricFamily(String name, MetricType type, Set<String> labels, String help) {
  /** The unit of its values, empty where they are plain counts. */
  String unit() {
    String base = name.replaceFirst("_total$", "");
    for (String unit : new String[] {"seconds", "bytes", "tokens", "blocks", "ratio"}) {
      if (base.endsWith("_" + unit)) {
        return unit;
      }
    }
    return "";
  }

  /** The type as Prometheus calls it. */
  String typeName() {
    return type.name().toLowerCase(Locale.ROOT);
  }
}
