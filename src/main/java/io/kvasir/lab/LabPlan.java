package io.kvasir.lab;

import com.typesafe.config.Config;
import java.util.List;

/** What the laboratory is to run; {@link LabPlanReader} makes it and finds its faults. Immutable. */
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

  /** One combination; the fields mean what they do in {@link RunReport}. */
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
