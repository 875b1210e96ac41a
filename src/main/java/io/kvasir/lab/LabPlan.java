package io.kvasir.lab;

import com.typesafe.config.Config;
import java.util.ArrayList;
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

  /**
   * The load of a run.
   *
   * @param source the trace
   * @param scale load, as a multiple of its own
   * @param seed the seed of everything random
   * @param conditions what else is said of it
   */
  record Load(TraceSource source, double scale, long seed, Conditions conditions) {
    /** The requests. */
    WorkloadTrace trace() {
      return Tenants.divide(source.at(scale, seed), conditions.tenants());
    }
  }

  /**
   * What else is said of a load.
   *
   * @param loop who waits for answers
   * @param tenants among how many tenants a trace is divided that names none; 0 for none
   * @param warmUp share of the requests, those that come first, that fill the caches and do not count; 0 to 1
   */
  record Conditions(LoopChoice loop, int tenants, double warmUp) {
    /** Nothing. */
    static final Conditions NONE = new Conditions(LoopChoice.TRACE, 0, 0);
  }

  /**
   * The engines of a run.
   *
   * @param engines which they are, by slot
   * @param workers how many of each role
   * @param elastic whether there are fewer at times
   * @param stalls whether they stall now and then
   * @param hostGigabytes host memory beside each one's cache; 0 for none
   * @param pulls whether they pull from each other what they have cached
   */
  record Machines(
      EngineChoice engines,
      Pools workers,
      ElasticChoice elastic,
      StallChoice stalls,
      double hostGigabytes,
      boolean pulls) {
    /** Engines without stalls and host memory. */
    static Machines of(EngineChoice engines, Pools workers, ElasticChoice elastic) {
      return new Machines(engines, workers, elastic, StallChoice.OFF, 0, false);
    }
  }

  /** The router of a run: its index mode, as written, its estimates of engine speed, its guard and its profile. */
  record RouterChoice(String index, Coefficients coefficients, GuardChoice guard, ProfileChoice profile) {}

  /** One run. */
  record Run(Load load, Machines machines, RouterChoice router, Slo slo) {
    /** How reports name it. */
    RunReport.RunSetup setup() {
      return new RunReport.RunSetup(
          load.source().name(), machines.engines().written(), machines.workers(), machines.elastic().written(),
          load.scale(), load.seed(), router.index(), router.guard().written(), options(), router.profile().name());
    }

    private String options() {
      List<String> options = new ArrayList<>();
      Conditions conditions = load.conditions();
      if (conditions.loop() != LoopChoice.TRACE) {
        options.add("loop " + conditions.loop());
      }
      if (conditions.tenants() > 0) {
        options.add("tenants " + conditions.tenants());
      }
      if (conditions.warmUp() > 0) {
        options.add("warm-up " + conditions.warmUp());
      }
      if (machines.stalls().perMinute() > 0) {
        options.add("stalls " + machines.stalls().written());
      }
      if (machines.hostGigabytes() > 0) {
        options.add("host-memory " + ResultTable.plain(machines.hostGigabytes()));
      }
      if (machines.pulls()) {
        options.add("pulls");
      }
      if (!router.coefficients().written().equals("exact")) {
        options.add("coefficients " + router.coefficients().written());
      }
      return String.join(", ", options);
    }
  }
}
