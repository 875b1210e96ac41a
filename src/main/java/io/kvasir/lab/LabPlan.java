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

  /** The load of a run: a trace at a multiple of its own load, with the seed of everything random. */
  record Load(TraceSource source, double scale, long seed) {}

  /** The router of a run: its index mode, as written, its estimates of engine speed, its guard and its profile. */
  record RouterChoice(String index, Coefficients coefficients, GuardChoice guard, ProfileChoice profile) {}

  /** One run, on so many engines of one model, or up to so many. */
  record Run(
      Load load, String engine, Pools workers, ElasticChoice elastic, RouterChoice router, Slo slo) {
    /** How reports name it. */
    RunReport.RunSetup setup() {
      return new RunReport.RunSetup(
          load.source().name(), engine, workers, elastic.written(), load.scale(), load.seed(), router.index(),
          router.guard().written(), router.profile().name());
    }
  }
}
