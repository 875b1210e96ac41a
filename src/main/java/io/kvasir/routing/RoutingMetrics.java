package io.kvasir.routing;

import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.LearntCost;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;

/** What routing tells operators. One instance per process, shared by all selectors; thread-safe. */
public final class RoutingMetrics {
  private final PrometheusRegistry registry;
  private final Counter decisions;
  private final Counter full;
  private final Counter unknown;
  private final Counter plans;
  private final Counter left;
  private final Map<DecisionPhase, DistributionDataPoint> parts = new EnumMap<>(DecisionPhase.class);

  /** Registers routing's metrics; once per registry. */
  public RoutingMetrics(Metrics metrics) {
    this.registry = metrics.registry();
    this.decisions =
        Counter.builder()
            .name("kvasir_routing_decisions_total")
            .help("Decisions by profile and outcome: chosen, or what the fleet lacked.")
            .labelNames("profile", "outcome")
            .register(metrics.registry());
    this.full =
        Counter.builder()
            .name("kvasir_routing_full_total")
            .help("Workers that were chosen and had no room when load was to be booked.")
            .labelNames("profile")
            .register(metrics.registry());
    this.unknown =
        Counter.builder()
            .name("kvasir_routing_unknown_profile_total")
            .help("Decisions by the standard profile because the node knew none of the name that the node where the"
                + " request arrived had chosen: their configurations differ.")
            .register(metrics.registry());
    this.left =
        Counter.builder()
            .name("kvasir_routing_left_total")
            .help(
                "Decisions that a profile left to the one it names under \"otherwise\", since its scorers did not know"
                    + " what they go by.")
            .labelNames("profile", "to")
            .register(metrics.registry());
    this.plans =
        Counter.builder()
            .name("kvasir_routing_plans_total")
            .help("Plans of profiles that can divide a request, by where the prompt is read: remote, or why not.")
            .labelNames("profile", "prefill")
            .register(metrics.registry());
    Histogram seconds =
        Histogram.builder()
            .name("kvasir_routing_stage_seconds")
            .help("Time of a decision's parts, from one decision in 16.")
            .labelNames("stage")
            .classicOnly()
            .classicUpperBounds(2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 1e-4, 1e-3, 1e-2)
            .register(metrics.registry());
    for (DecisionPhase part : DecisionPhase.values()) {
      parts.put(part, seconds.labelValues(label(part)));
    }
  }

  /** Counts a request that goes by the standard profile because its own is not known here. */
  public void unknownProfile() {
    unknown.inc();
  }

  void recordPhase(DecisionPhase part, long nanos) {
    DistributionDataPoint seconds = parts.get(part);
    if (seconds != null) {
      seconds.observe(nanos / 1e9);
    }
  }

  Counts counts(String profile) {
    Map<UnmetNeed, CounterDataPoint> none = new EnumMap<>(UnmetNeed.class);
    for (UnmetNeed want : UnmetNeed.values()) {
      none.put(want, decisions.labelValues(profile, "no_" + label(want)));
    }
    return new Counts(
        decisions.labelValues(profile, "chosen"),
        full.labelValues(profile),
        none,
        other -> left.labelValues(profile, other).inc());
  }

  /** Shows what is learnt of engines' costs; once per registry. */
  public void watch(CostModel costs) {
    cost("kvasir_cost_token_seconds", "Seconds a prompt token takes to compute, as learnt from first tokens.",
        costs, learnt -> learnt.cost().msPerToken() / 1e3);
    cost("kvasir_cost_pair_seconds", "Seconds a prompt token takes to attend to one before it, as learnt.",
        costs, learnt -> learnt.cost().msPerPair() / 1e3);
    cost("kvasir_cost_fixed_seconds", "Seconds to the first token that no prompt token accounts for, as learnt.",
        costs, learnt -> learnt.fixedMs() / 1e3);
    cost("kvasir_cost_samples", "First tokens that costs were learnt from, since the process started.",
        costs, LearntCost::samples);
    cost("kvasir_cost_error_ratio",
        "How far the predicted time to the first token was from the actual one, in shares of that: a running mean.",
        costs, LearntCost::error);
  }

  private void cost(String name, String help, CostModel costs, ToDoubleFunction<LearntCost> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("engine", "model")
        .callback(
            gauge ->
                costs
                    .learnt()
                    .forEach(
                        (deployment, learnt) ->
                            gauge.call(value.applyAsDouble(learnt), deployment.engine(), deployment.model())))
        .register(registry);
  }

  /** The counter of a profile's plans by where the prompt is read. */
  public CounterDataPoint plans(String profile, String prefill) {
    return plans.labelValues(profile, prefill);
  }

  private static String label(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** The parts of a decision that are timed. */
  enum DecisionPhase {
    PREPARE,
    SNAPSHOT,
    FILTER,
    SEARCH,
    SCORE,
    PICK
  }

  /** One profile's counters, looked up once. */
  record Counts(
      CounterDataPoint chosen, CounterDataPoint full, Map<UnmetNeed, CounterDataPoint> none,
      Consumer<String> delegated) {
    void countDelegated(String to) {
      delegated.accept(to);
    }

    void none(UnmetNeed want) {
      CounterDataPoint counter = none.get(want);
      if (counter != null) {
        counter.inc();
      }
    }
  }
}
