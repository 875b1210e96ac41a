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

/** The Prometheus metrics of routing. One instance per process, shared by all selectors; thread-safe. */
public final class RoutingMetrics {
  private final PrometheusRegistry registry;
  private final Counter decisions;
  private final Counter full;
  private final Counter busy;
  private final Counter unknownProfiles;
  private final Counter plans;
  private final Counter delegated;
  private final Map<DecisionPhase, DistributionDataPoint> phases = new EnumMap<>(DecisionPhase.class);

  /** Registers routing's metrics; once per registry. */
  public RoutingMetrics(Metrics metrics) {
    this.registry = metrics.registry();
    this.decisions =
        Counter.builder()
            .name("kvasir_routing_decisions_total")
            .help("Decisions by profile and outcome: chosen, or the reason why no worker could be chosen.")
            .labelNames("profile", "outcome")
            .register(metrics.registry());
    this.full =
        Counter.builder()
            .name("kvasir_routing_full_total")
            .help("Workers that were picked and had no capacity when load was booked; the next in rank was tried.")
            .labelNames("profile")
            .register(metrics.registry());
    this.busy =
        Counter.builder()
            .name("kvasir_routing_busy_total")
            .help("Workers that were picked and had more queued than the class of the request allows, while another one"
                + " with less was expected to begin it earlier: that one was chosen.")
            .labelNames("profile")
            .register(metrics.registry());
    this.unknownProfiles =
        Counter.builder()
            .name("kvasir_routing_unknown_profile_total")
            .help("Decisions by the standard profile because the cell's node does not have the profile that the node"
                + " where the request arrived has chosen: their configurations differ.")
            .register(metrics.registry());
    this.delegated =
        Counter.builder()
            .name("kvasir_routing_left_total")
            .help(
                "Decisions delegated to the profile that is configured under \"otherwise\", since scorers lacked their"
                    + " inputs.")
            .labelNames("profile", "to")
            .register(metrics.registry());
    this.plans =
        Counter.builder()
            .name("kvasir_routing_plans_total")
            .help("Plans of prefill-decode profiles by prefill: remote, or the reason for local prefill.")
            .labelNames("profile", "prefill")
            .register(metrics.registry());
    Histogram seconds =
        Histogram.builder()
            .name("kvasir_routing_stage_seconds")
            .help("Time of a decision's phases, measured for one decision in 16.")
            .labelNames("stage")
            .classicOnly()
            .classicUpperBounds(2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 1e-4, 1e-3, 1e-2)
            .register(metrics.registry());
    for (DecisionPhase phase : DecisionPhase.values()) {
      phases.put(phase, seconds.labelValues(label(phase)));
    }
  }

  /** Counts a request that the standard profile decides because its own is not configured on this node. */
  public void unknownProfile() {
unknownProfiles.inc();
  }

  void recordPhase(DecisionPhase phase, long nanos) {
    DistributionDataPoint seconds = phases.get(phase);
    if (seconds != null) {
      seconds.observe(nanos / 1e9);
    }
  }

  Counts counts(String profile) {
    Map<UnmetNeed, CounterDataPoint> none = new EnumMap<>(UnmetNeed.class);
    for (UnmetNeed need : UnmetNeed.values()) {
      none.put(need, decisions.labelValues(profile, "no_" + label(need)));
    }
    return new Counts(
        decisions.labelValues(profile, "chosen"),
        full.labelValues(profile),
        busy.labelValues(profile),
        none,
        other -> delegated.labelValues(profile, other).inc());
  }

  /** Registers gauges of the learnt engine costs; once per registry. */
  public void watch(CostModel costs) {
    cost("kvasir_cost_token_seconds", "Seconds to compute a prompt token, learnt from times to first token.",
        costs, learnt -> learnt.cost().msPerToken() / 1e3);
    cost("kvasir_cost_pair_seconds", "Seconds for a prompt token to attend to an earlier one, learnt.",
        costs, learnt -> learnt.cost().msPerPair() / 1e3);
    cost("kvasir_cost_fixed_seconds", "Seconds to the first token that do not depend on the prompt, learnt.",
        costs, learnt -> learnt.fixedMs() / 1e3);
    cost("kvasir_cost_samples", "Times to first token that costs were learnt from, since the process started.",
        costs, LearntCost::samples);
    cost("kvasir_cost_error_ratio",
        "Running mean of the relative error of predicted times to first token.",
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

  /** The counter of a profile's plans with one kind of prefill. */
  public CounterDataPoint plans(String profile, String prefill) {
    return plans.labelValues(profile, prefill);
  }

  private static String label(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** The phases of a decision that are timed. */
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
      CounterDataPoint chosen, CounterDataPoint full, CounterDataPoint busy, Map<UnmetNeed, CounterDataPoint> none,
      Consumer<String> delegated) {
    void countDelegated(String to) {
      delegated.accept(to);
    }

    void none(UnmetNeed need) {
      CounterDataPoint counter = none.get(need);
      if (counter != null) {
        counter.inc();
      }
    }
  }
}
