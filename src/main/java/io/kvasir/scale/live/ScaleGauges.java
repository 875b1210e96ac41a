package io.kvasir.scale.live;

import io.kvasir.scale.FleetDemand;
import io.kvasir.scale.ScaleAdvice;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * The advice as metrics: every node shows all of it, so a query takes the highest of a series and no sum. Numbers of
 * workers that are not known are left out, as which autoscalers change nothing.
 */
public final class ScaleGauges implements MultiCollector {
  /** How many workers there should be. */
  private static final List<Gauge> ADVICE =
      List.of(
          new Gauge(
              "kvasir_scale_desired_workers",
              "Workers that a model should have in a role: give this to an autoscaler. Every node shows the same.",
              ScaleAdvice::desired),
          new Gauge("kvasir_scale_needed_workers", "Workers that the demand of the last minute needs.",
              ScaleAdvice::now),
          new Gauge(
              "kvasir_scale_forecast_workers",
              "Workers that are needed by the time that one ordered now would serve.",
              ScaleAdvice::ahead));

  /** From what that follows. */
  private static final List<Gauge> DEMAND =
      List.of(
          new Gauge("kvasir_scale_workers", "Workers that there are, without draining ones.",
              ofDemand(FleetDemand::workers)),
          new Gauge("kvasir_scale_ready_workers", "Workers that may be sent requests.", ofDemand(FleetDemand::ready)),
          new Gauge(
              "kvasir_scale_prefill_load",
              "Seconds of prefill that workers are given per second: so many do nothing else.",
              ofDemand(FleetDemand::prefillPerSecond)),
          new Gauge(
              "kvasir_scale_prefill_owed_seconds",
              "Estimated seconds of prefill of requests whose first token has not come, of all workers.",
              ofDemand(FleetDemand::owedSeconds)),
          new Gauge("kvasir_scale_in_flight", "Requests in flight at all workers.", ofDemand(FleetDemand::inFlight)),
          new Gauge("kvasir_scale_context_tokens", "Prompt tokens of the requests in flight.",
              ofDemand(FleetDemand::contextTokens)),
          new Gauge(
              "kvasir_scale_memory_load",
              "KV caches in use by requests, in workers' caches: 2.5 are two and a half.",
              ofDemand(FleetDemand::memoryUse)),
          new Gauge("kvasir_scale_tokens_per_second", "Tokens generated per second.",
              ofDemand(FleetDemand::tokensPerSecond)),
          new Gauge(
              "kvasir_scale_headroom_ratio",
              "Share of what the ready workers could generate at the pace to be kept that is free.",
              ScaleAdvice::headroom),
          new Gauge("kvasir_scale_waiting", "Requests that wait in engines, as far as these report it.",
              ofDemand(FleetDemand::waiting)),
          new Gauge("kvasir_scale_backlog_requests",
              "Requests that wait in the router for a worker. They count as if workers had them.",
              ofDemand(demand -> demand.backlog().requests())),
          new Gauge("kvasir_scale_backlog_owed_seconds",
              "Estimated seconds of prefill of the requests that wait in the router.",
              ofDemand(demand -> demand.backlog().owedSeconds())),
          new Gauge("kvasir_scale_backlog_oldest_seconds",
              "How long the request has waited in the router that has waited longest.",
              ofDemand(demand -> demand.backlog().oldestSeconds())),
          new Gauge("kvasir_scale_refused_per_second",
              "Requests per second that were refused because the fleet lacks capacity, over about the last minute.",
              ofDemand(demand -> demand.backlog().refusedPerSecond())),
          new Gauge("kvasir_scale_wait_seconds", "What a prompt waits for now at the worker with the least to read.",
              ofDemand(FleetDemand::waitSeconds)));

  private static final String MISSING = "kvasir_scale_missing_cells";
  private static final String MISSING_HELP =
      "Cells whose home did not answer: their workers count as they were when it last did.";

  private final Supplier<ScaleReport> report;

  /** Of the report at each scrape. */
  public ScaleGauges(Supplier<ScaleReport> report) {
    this.report = report;
  }

  private record Gauge(String name, String help, ToDoubleFunction<ScaleAdvice> value) {}

  private static ToDoubleFunction<ScaleAdvice> ofDemand(ToDoubleFunction<FleetDemand> figure) {
    return advice -> figure.applyAsDouble(advice.demand());
  }

  @Override
  public MetricSnapshots collect() {
    ScaleReport now = report.get();
    MetricSnapshots.Builder all = MetricSnapshots.builder();
    List<ScaleAdvice> known = now.targets().stream().filter(ScaleAdvice::isKnown).toList();
    ADVICE.forEach(gauge -> all.metricSnapshot(snapshot(gauge, known)));
    DEMAND.forEach(gauge -> all.metricSnapshot(snapshot(gauge, now.targets())));
    all.metricSnapshot(
        GaugeSnapshot.builder().name(MISSING).help(MISSING_HELP)
            .dataPoint(GaugeDataPointSnapshot.builder().value(now.missingCells().size()).build())
            .build());
    return all.build();
  }

  private static GaugeSnapshot snapshot(Gauge gauge, List<ScaleAdvice> targets) {
    GaugeSnapshot.Builder snapshot = GaugeSnapshot.builder().name(gauge.name()).help(gauge.help());
    for (ScaleAdvice advice : targets) {
      snapshot.dataPoint(
          GaugeDataPointSnapshot.builder()
              .labels(Labels.of("model", advice.target().model(), "role", advice.target().role().label()))
              .value(gauge.value().applyAsDouble(advice))
              .build());
    }
    return snapshot.build();
  }

  @Override
  public List<MetricFamilyDescriptor> getMetricFamilyDescriptors() {
    List<MetricFamilyDescriptor> all = new ArrayList<>();
    Stream.concat(ADVICE.stream(), DEMAND.stream()).forEach(gauge ->
        all.add(MetricFamilyDescriptor.gauge(gauge.name()).help(gauge.help()).labelNames("model", "role").build()));
    all.add(MetricFamilyDescriptor.gauge(MISSING).help(MISSING_HELP).build());
    return all;
  }
}
