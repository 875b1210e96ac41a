package io.kvasir.lab;

import com.typesafe.config.Config;
import java.util.List;

/** A plan of runs, read and checked by {@link LabPlanReader}. Immutable. */
public final class LabPlan {
  private final List<Run> runs;

  LabPlan(List<Run> runs) {
    this.runs = List.copyOf(runs);
  }

  /** Every combination, in the order of the report. */
  List<Run> runs() {
    return runs;
  }

  /** A profile by name, among those compiled from a configuration laid over the built-in ones. */
  record ProfileChoice(String name, Config config) {}

  /** One run; its fields are those of {@link RunReport}. */
  record Run(
      TraceSource source,
      String engine,
      Pools workers,
      double scale,
      long seed,
      String index,
      Coefficients coefficients,
      ProfileChoice profile,
      Slo slo) {}
}
