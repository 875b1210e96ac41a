package io.kvasir.llmd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class LlmdMetricsTest {
  private static final List<String> REQUEST = List.of("model_name", "target_model_name", "fairness_id", "priority");
  private static final List<String> POOL = List.of("name");

  /** What llm-d's documentation promises. */
  private static final Map<String, List<String>> LABELS =
      Map.ofEntries(
          Map.entry("llm_d_epp_request", REQUEST),
          Map.entry("llm_d_epp_request_error", with(REQUEST, "error_code")),
          Map.entry("llm_d_epp_request_running", REQUEST),
          Map.entry("llm_d_epp_request_duration_seconds", REQUEST),
          Map.entry("llm_d_epp_request_ttft_seconds", with(REQUEST, "streaming")),
          Map.entry("llm_d_epp_request_input_tokens", REQUEST),
          Map.entry("llm_d_epp_request_output_tokens", REQUEST),
          Map.entry("llm_d_epp_request_cached_tokens", REQUEST),
          Map.entry("llm_d_epp_request_size_bytes", REQUEST),
          Map.entry("llm_d_epp_request_ntpot_seconds", REQUEST),
          Map.entry("llm_d_epp_request_streaming_tpot_seconds", REQUEST),
          Map.entry("llm_d_epp_disagg_decision", List.of("plugin_name", "plugin_type", "model_name", "decision_type")),
          Map.entry("llm_d_epp_model_rewrite_decisions", List.of("model_rewrite_name", "model_name", "target_model")),
          Map.entry("llm_d_epp_average_kv_cache_utilization", POOL),
          Map.entry("llm_d_epp_average_queue_size", POOL),
          Map.entry("llm_d_epp_average_running_requests", POOL),
          Map.entry("llm_d_epp_std_dev_kv_cache_utilization", POOL),
          Map.entry("llm_d_epp_std_dev_queue_size", POOL),
          Map.entry("llm_d_epp_std_dev_running_requests", POOL),
          Map.entry("llm_d_epp_ready_endpoints", POOL),
          Map.entry("llm_d_epp_per_endpoint_queue_size", with(POOL, "model_server_endpoint")),
          Map.entry(
              "llm_d_epp_inflight_requests",
              List.of("endpoint_name", "namespace", "producer_name", "fairness_id", "priority")),
          Map.entry(
              "llm_d_epp_inflight_tokens",
              List.of("endpoint_name", "namespace", "producer_name", "fairness_id", "priority")),
          Map.entry("llm_d_epp_flow_control_pool_saturation", List.of("inference_pool", "stage")),
          Map.entry("llm_d_epp_scheduler_e2e_duration_seconds", List.of()),
          Map.entry("llm_d_epp_extproc_streams_inflight", List.of()),
          Map.entry("llm_d_epp_extproc_streams", List.of("code")));

  private final PrometheusRegistry registry = new PrometheusRegistry();

  /** The reference of metrics is generated from a running node, so what it names is there. */
  @ParameterizedTest
  @EnumSource
  void everyAlias_hasASource_andTheLabelsPromised(MetricAlias alias) throws IOException {
    String row =
        Files.readAllLines(Path.of("cluster-configs/METRICS.md")).stream()
            .filter(line -> line.matches("\\| `" + alias.source() + "(_total)?` .*"))
            .findFirst()
            .orElse("there is none");
    String type =
        switch (alias.shape()) {
          case COUNT, TOTALS -> "counter";
          case GAUGE, MEAN, DEVIATION -> "gauge";
          case DISTRIBUTION -> "histogram";
        };
    assertThat(row).contains("| " + type + " |");
    assertThat(alias.labelNames()).containsExactlyElementsOf(LABELS.getOrDefault(alias.metricName(), List.of("?")));
    for (String used : alias.sourceLabels()) {
      assertThat(row).contains("`" + used + "`");
    }
  }

  @Test
  void countersAreSums_byTheLabelsOfLlmd() throws IOException {
    Counter requests =
        Counter.builder().name("kvasir_requests_total").labelNames("api", "model", "status").register(registry);
    requests.labelValues("chat", "m", "2xx").inc(5);
    requests.labelValues("completions", "m", "2xx").inc(2);
    requests.labelValues("chat", "m", "5xx").inc(3);
    requests.labelValues("chat", "other", "499").inc();
    assertThat(scraped())
        .contains(request("llm_d_epp_request_total", "m") + " 10.0", request("llm_d_epp_request_total", "other"))
        .contains(
            "llm_d_epp_request_error_total{error_code=\"5xx\",fairness_id=\"default-flow\",model_name=\"m\","
                + "priority=\"0\",target_model_name=\"m\"} 3.0")
        .doesNotContain("error_code=\"2xx\"")
        .contains("kvasir_requests_total{");
  }

  @Test
  void histogramsAreAdded_bucketByBucket() throws IOException {
    Histogram stages =
        Histogram.builder().name("kvasir_stage_seconds").classicOnly().classicUpperBounds(1, 10).labelNames("stage")
            .register(registry);
    stages.labelValues("decide").observe(0.5);
    stages.labelValues("decide").observe(5);
    stages.labelValues("parse").observe(0.1);
    Histogram ttft =
        Histogram.builder().name("kvasir_ttft_seconds").classicOnly().classicUpperBounds(1)
            .labelNames("model", "profile").register(registry);
    ttft.labelValues("m", "a").observe(0.5);
    ttft.labelValues("m", "b").observe(2);
    assertThat(scraped())
        .contains(
            "llm_d_epp_scheduler_e2e_duration_seconds_bucket{le=\"1.0\"} 1",
            "llm_d_epp_scheduler_e2e_duration_seconds_bucket{le=\"10.0\"} 2",
            "llm_d_epp_scheduler_e2e_duration_seconds_count 2", "llm_d_epp_scheduler_e2e_duration_seconds_sum 5.5")
        .contains("llm_d_epp_request_ttft_seconds_count{", "streaming=\"true\"", "} 2.5");
  }

  @Test
  void tokens_haveTheirSum_andTheNumberOfRequests() throws IOException {
    Counter cached =
        Counter.builder().name("kvasir_cached_tokens_total").labelNames("kind", "model").register(registry);
    cached.labelValues("actual", "m").inc(300);
    cached.labelValues("predicted", "m").inc(400);
    Counter predictions =
        Counter.builder().name("kvasir_predictions_total").labelNames("model", "result").register(registry);
    predictions.labelValues("m", "exact").inc(3);
    predictions.labelValues("m", "over").inc(1);
    predictions.labelValues("m", "unreported").inc(7);
    assertThat(scraped())
        .contains(request("llm_d_epp_request_cached_tokens_sum", "m") + " 300.0")
        .contains(request("llm_d_epp_request_cached_tokens_count", "m") + " 4");
  }

  @Test
  void poolsAreMeansOfWhatIsKnown() throws IOException {
    Gauge waiting =
        Gauge.builder().name("kvasir_worker_engine_waiting").labelNames("cell", "worker").register(registry);
    waiting.labelValues("llama", "a").set(2);
    waiting.labelValues("llama", "b").set(6);
    waiting.labelValues("llama", "c").set(-1);
    waiting.labelValues("silent", "d").set(-1);
    assertThat(scraped())
        .contains(
            "llm_d_epp_average_queue_size{name=\"llama\"} 4.0", "llm_d_epp_std_dev_queue_size{name=\"llama\"} 2.0",
            "llm_d_epp_per_endpoint_queue_size{model_server_endpoint=\"b\",name=\"llama\"} 6.0")
        .doesNotContain("_size{name=\"silent\"}", "model_server_endpoint=\"c\"");
  }

  @Test
  void streamsHaveTheStatusOfGrpc() throws IOException {
    Counter streams = Counter.builder().name("kvasir_picker_streams_total").labelNames("outcome").register(registry);
    streams.labelValues("picked").inc(4);
    streams.labelValues("answered").inc(2);
    streams.labelValues("cancelled").inc();
    streams.labelValues("failed").inc(3);
    assertThat(scraped())
        .contains(
            "llm_d_epp_extproc_streams_total{code=\"OK\"} 6.0",
            "llm_d_epp_extproc_streams_total{code=\"Canceled\"} 1.0",
            "llm_d_epp_extproc_streams_total{code=\"Internal\"} 3.0");
  }

  @Test
  void plansAreDecisions_byWhetherPrefillIsApart() throws IOException {
    Counter plans =
        Counter.builder().name("kvasir_routing_plans_total").labelNames("prefill", "profile").register(registry);
    plans.labelValues("remote", "long").inc(4);
    plans.labelValues("held", "long").inc(2);
    plans.labelValues("no-worker", "remote").inc(1);
    assertThat(scraped())
        .contains(
            decision("decode-only", "long") + " 2.0", decision("decode-only", "remote") + " 1.0",
            decision("prefill-decode", "long") + " 4.0");
  }

  private static String decision(String type, String profile) {
    return "llm_d_epp_disagg_decision_total{decision_type=\"" + type + "\",model_name=\"all\",plugin_name=\""
        + profile + "\",plugin_type=\"disagg-profile-handler\"}";
  }

  @Test
  void withoutSources_thereIsNothing() throws IOException {
    assertThat(scraped()).doesNotContain("llm_d_epp");
    assertThat(Arrays.stream(MetricAlias.values()).map(MetricAlias::metricName).distinct())
        .hasSize(MetricAlias.values().length);
  }

  /** Nothing is made unless somebody reads: counted in scrapes, not in requests. */
  @Test
  void whatIsMade_isMadeWhenItIsRead() throws IOException {
    Gauge healthy = Gauge.builder().name("kvasir_worker_healthy").labelNames("cell", "worker").register(registry);
    healthy.labelValues("llama", "a").set(1);
    Metrics metrics = new Metrics(registry);
    metrics.derive(LlmdMetrics::of);
    assertThat(value(text(metrics), "llm_d_epp_ready_endpoints")).isEqualTo(1, within(0.0));
    healthy.labelValues("llama", "b").set(1);
    assertThat(value(text(metrics), "llm_d_epp_ready_endpoints")).isEqualTo(2, within(0.0));
  }

  private String scraped() throws IOException {
    Metrics metrics = new Metrics(registry);
    metrics.derive(LlmdMetrics::of);
    return text(metrics);
  }

  private static String text(Metrics metrics) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    String type = metrics.write(null, out);
    assertThat(type).startsWith("text/plain");
    return out.toString(StandardCharsets.UTF_8);
  }

  private static double value(String text, String metric) {
    Matcher line = Pattern.compile(metric + "\\{[^}]*} (\\S+)").matcher(text);
    return line.find() ? Double.parseDouble(line.group(1)) : Double.NaN;
  }

  private static String request(String metric, String model) {
    return metric + "{fairness_id=\"default-flow\",model_name=\"" + model
        + "\",priority=\"0\",target_model_name=\"" + model + "\"}";
  }

  private static List<String> with(List<String> labels, String more) {
    return Stream.concat(labels.stream(), Stream.of(more)).toList();
  }
}
