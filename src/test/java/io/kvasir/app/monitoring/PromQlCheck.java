package io.kvasir.app.monitoring;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Holds PromQL against the metrics that nodes have. */
final class PromQlCheck {
  /** Labels that Prometheus gives to what it scrapes. */
  private static final Set<String> OF_TARGETS = Set.of("cluster", "instance", "job");

  private final MetricCatalog catalog;
  private final Map<String, Set<String>> recorded;

  /** @param recorded names and labels of recording rules */
  PromQlCheck(MetricCatalog catalog, Map<String, Set<String>> recorded) {
    this.catalog = catalog;
    this.recorded = Map.copyOf(recorded);
  }

  /** Everything in an expression that no node has, in words. */
  List<String> faults(PromQl expression) {
    List<String> faults = new ArrayList<>();
    for (PromQl.Selector selector : expression.selectors()) {
      if (!exists(selector.metric())) {
        faults.add("there is no metric " + selector.metric());
      }
      for (String label : selector.labels()) {
        if (!labels(selector.metric()).contains(label)) {
          faults.add(selector.metric() + " has no label " + label);
        }
      }
    }
    for (PromQl.Grouping grouping : expression.groupings()) {
      for (PromQl.Selector selector : grouping.of().selectors()) {
        for (String label : grouping.labels()) {
          if (grouping.keyword().equals("by") && !labels(selector.metric()).contains(label)) {
            faults.add(selector.metric() + " has no label " + label + " to group by");
          }
        }
      }
      Set<String> all = new HashSet<>();
      grouping.of().selectors().forEach(selector -> all.addAll(labels(selector.metric())));
      for (String label : grouping.labels()) {
        if (!all.contains(label)) {
          faults.add("nothing has the label %s of %s".formatted(label, grouping.keyword()));
        }
      }
    }
    return faults;
  }

  /** The labels of a metric or of a recording rule, those of targets among them. */
  Set<String> labels(String metric) {
    Set<String> labels = new HashSet<>(OF_TARGETS);
    labels.addAll(recorded.getOrDefault(metric, catalog.labels(metric)));
    return labels;
  }

  private boolean exists(String metric) {
    return metric.equals("up") || recorded.containsKey(metric) || catalog.family(metric).isPresent();
  }
}
