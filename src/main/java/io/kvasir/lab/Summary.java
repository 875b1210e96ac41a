package io.kvasir.lab;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** The runs of one trace, load, index and profile: one per seed. */
record Summary(List<RunReport> runs) {
  /** Groups runs that differ in their seed alone, in their order. */
  static List<Summary> of(List<RunReport> runs) {
    Map<RunReport.RunSetup, List<RunReport>> grouped = new LinkedHashMap<>();
    for (RunReport run : runs) {
      grouped.computeIfAbsent(run.setup().seeded(0), _ -> new ArrayList<>()).add(run);
    }
    return grouped.values().stream().map(Summary::new).toList();
  }

  /** The first of them, for the fields they have in common. */
  RunReport first() {
    return runs.getFirst();
  }

  /** The mean over the seeds. */
  double mean(ToDoubleFunction<RunReport> value) {
    return runs.stream().mapToDouble(value).average().orElse(Double.NaN);
  }
}
