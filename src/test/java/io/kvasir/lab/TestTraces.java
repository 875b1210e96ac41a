package io.kvasir.lab;

import com.typesafe.config.ConfigFactory;
import io.kvasir.enginemodel.EngineModel;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.DoubleAdder;

/** Small traces and how to run them. */
final class TestTraces {
  static final String ENGINE = "h200-Qwen3-32B-tp2";

  /** Tokens that one engine holds. */
  static final int KV_TOKENS = EngineModel.named(ENGINE).kvTokens();

  private TestTraces() {}

  /** A source that is one trace, whatever load and seed. */
  static TraceSource of(WorkloadTrace trace) {
    return new TraceSource() {
      @Override
      public String name() {
        return "test";
      }

      @Override
      public WorkloadTrace at(double scale, long seed) {
        return trace;
      }
    };
  }

  private static LabPlan.Load load(TraceSource trace, long seed) {
    return new LabPlan.Load(trace, 1, seed, LabPlan.Conditions.NONE);
  }

  private static LabPlan.Machines machines(String fleet, String elastic) {
    Pools pools = Pools.parse(fleet);
    return LabPlan.Machines.of(EngineChoice.parse(ENGINE, pools.size()), pools, ElasticChoice.parse(elastic));
  }

  /** Requests that share prefixes at random, close enough together to queue. */
  static WorkloadTrace random(int requests, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<LabRequest> list = new ArrayList<>();
    double atMs = 0;
    for (int i = 0; i < requests; i++) {
      atMs += random.nextDouble() * 400;
      int group = random.nextInt(12);
      int shared = random.nextInt(1, 30);
      int own = random.nextInt(0, 10);
      long[] chain = new long[shared + own];
      for (int block = 0; block < chain.length; block++) {
        chain[block] = BlockHashes.hashOf(block < shared ? group * 1000L + block : 1_000_000L + i * 100L + block);
      }
      int tokens = chain.length * 512 + random.nextInt(512) + 1;
      list.add(LabRequest.at(atMs, tokens, random.nextInt(1, 60), BlockHashes.of(chain), ""));
    }
    return new WorkloadTrace(512, list);
  }

  static LabPlan.Run run(WorkloadTrace trace, int workers, String profile, String index, long seed) {
    return run(trace, workers, profile, index, "exact", seed);
  }

  static LabPlan.Run run(
      WorkloadTrace trace, int workers, String profile, String index, String coefficients, long seed) {
    return new LabPlan.Run(
        load(of(trace), seed), machines(Integer.toString(workers), "off"),
        new LabPlan.RouterChoice(
            index, Coefficients.parse(coefficients), GuardChoice.OFF,
            new LabPlan.ProfileChoice(profile, ConfigFactory.empty())),
        new Slo(2000, 50));
  }

  /** What prefill and decode engines make of a trace. */
  static RunReport report(WorkloadTrace trace, String fleet, String profile, String settings) {
    LabPlan.Run run =
        new LabPlan.Run(
            load(of(trace), 1), machines(fleet, "off"),
            new LabPlan.RouterChoice(
                "exact", Coefficients.parse("exact"), GuardChoice.OFF,
                new LabPlan.ProfileChoice(profile, ConfigFactory.parseString(settings))),
            new Slo(2000, 50));
    return new LabRun(run, new DoubleAdder()).execute();
  }

  /** What the default profile makes of a trace on some engines, under conditions. */
  static RunReport report(
      WorkloadTrace trace, LabPlan.Machines machines, LabPlan.Conditions conditions, String coefficients) {
    LabPlan.Run run =
        new LabPlan.Run(
            new LabPlan.Load(of(trace), 1, 1, conditions), machines,
            new LabPlan.RouterChoice(
                "exact", Coefficients.parse(coefficients), GuardChoice.OFF,
                new LabPlan.ProfileChoice("expected-cost", ConfigFactory.empty())),
            new Slo(2000, 50));
    return new LabRun(run, new DoubleAdder()).execute();
  }

  /** What a profile makes of a trace on some engines, whose speed the router takes from their names. */
  static RunReport report(WorkloadTrace trace, LabPlan.Machines machines, String profile) {
    LabPlan.Run run =
        new LabPlan.Run(
            load(of(trace), 1), machines,
            new LabPlan.RouterChoice(
                "exact", Coefficients.parse("exact"), GuardChoice.OFF,
                new LabPlan.ProfileChoice(profile, ConfigFactory.empty())),
            new Slo(2000, 50));
    return new LabRun(run, new DoubleAdder()).execute();
  }

  /** Engines that prefill and decode, all the time. */
  static LabPlan.Machines machines(String engines, int workers, String stalls, double hostGigabytes) {
    return new LabPlan.Machines(
        EngineChoice.parse(engines, workers), new Pools(workers, 0, 0), ElasticChoice.OFF, StallChoice.parse(stalls),
        hostGigabytes, false);
  }

  /** Engines that prefill and decode, and pull from each other or not. */
  static LabPlan.Machines machines(int workers, boolean pulls) {
    return new LabPlan.Machines(
        EngineChoice.parse(ENGINE, workers), new Pools(workers, 0, 0), ElasticChoice.OFF, StallChoice.OFF, 0, pulls);
  }

  static RunReport report(WorkloadTrace trace, int workers, String profile, String index, long seed) {
    return new LabRun(run(trace, workers, profile, index, seed), new DoubleAdder()).execute();
  }

  /** What the default profile makes of a trace under a guard. */
  static RunReport guarded(WorkloadTrace trace, int workers, String guard) {
    LabPlan.Run run =
        new LabPlan.Run(
            load(of(trace), 1), machines(Integer.toString(workers), "off"),
            new LabPlan.RouterChoice(
                "exact", Coefficients.parse("exact"), GuardChoice.parse(guard),
                new LabPlan.ProfileChoice("expected-cost", ConfigFactory.empty())),
            new Slo(5000, 50));
    return new LabRun(run, new DoubleAdder()).execute();
  }

  /** What the default profile makes of a trace on a fleet that grows and shrinks. */
  static RunReport elastic(TraceSource trace, int workers, String elastic) {
    LabPlan.Run run =
        new LabPlan.Run(
            load(trace, 1), machines(Integer.toString(workers), elastic),
            new LabPlan.RouterChoice(
                "exact", Coefficients.parse("exact"), GuardChoice.OFF,
                new LabPlan.ProfileChoice("expected-cost", ConfigFactory.empty())),
            new Slo(2000, 100));
    return new LabRun(run, new DoubleAdder()).execute();
  }
}
