package io.kvasir.gateway.traffic;

import io.kvasir.gateway.traffic.TenantTraffic.Totals;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.SummaryWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.Quantiles;
import java.util.function.ToLongFunction;

/**
 * The traffic of tenants as metrics, read when they are asked for: of the first {@value TenantTraffic#LABELLED} tenants
 * each by itself, of all others together, so that tokens that name tenants make no series.
 */
public final class TenantMetrics {
  private static final String TENANT = "tenant";

  private final TenantTraffic traffic;
  private final PrometheusRegistry registry;

  private TenantMetrics(TenantTraffic traffic, PrometheusRegistry registry) {
    this.traffic = traffic;
    this.registry = registry;
  }

  /** Registers them. */
  public static void register(TenantTraffic traffic, Metrics metrics) {
    TenantMetrics tenants = new TenantMetrics(traffic, metrics.registry());
    tenants.count("kvasir_tenant_requests", "Requests by tenant", Totals::requests);
    tenants.count(
        "kvasir_tenant_refusals", "Requests that the router answered with 429 or 503 itself, by tenant",
        Totals::refused);
    tenants.tokens();
    tenants.inFlight();
    tenants.firstToken();
  }

  private void count(String name, String help, ToLongFunction<Totals> figure) {
    CounterWithCallback.builder()
        .name(name + "_total")
        .help(help)
        .labelNames(TENANT)
        .callback(
            counter -> traffic.byLabel().forEach(
                (tenant, figures) -> counter.call((double) figure.applyAsLong(figures.totals()), tenant)))
        .register(registry);
  }

  private void tokens() {
    CounterWithCallback.builder()
        .name("kvasir_tenant_tokens_total")
        .help("Tokens by tenant, as engines count them: of prompts those that they had cached and those that they had"
            + " not (or do not say), and output")
        .labelNames(TENANT, "kind")
        .callback(
            counter -> traffic.byLabel().forEach((tenant, figures) -> {
              Totals totals = figures.totals();
              counter.call((double) Math.max(0, totals.promptTokens() - totals.cachedTokens()), tenant, "uncached");
              counter.call((double) totals.cachedTokens(), tenant, "cached");
              counter.call((double) totals.outputTokens(), tenant, "output");
            }))
        .register(registry);
  }

  private void inFlight() {
    GaugeWithCallback.builder()
        .name("kvasir_tenant_requests_in_flight")
        .help("Requests being served now, by tenant")
        .labelNames(TENANT)
        .callback(
            gauge -> traffic.byLabel().forEach((tenant, figures) -> gauge.call(figures.inFlight(), tenant)))
        .register(registry);
  }

  private void firstToken() {
    SummaryWithCallback.builder()
        .name("kvasir_tenant_ttft_seconds")
        .help("From a request's arrival to the first token of its stream, by tenant: sum and count")
        .labelNames(TENANT)
        .callback(
            summary -> traffic.byLabel().forEach(
                (tenant, figures) -> summary.call(
                    figures.totals().streams(), figures.totals().firstTokenSeconds(), Quantiles.EMPTY, tenant)))
        .register(registry);
  }
}
