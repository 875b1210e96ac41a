package io.kvasir.gateway.admin.vitals;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.execution.FakeCells;
import io.kvasir.gateway.admin.TestAdmin;
import io.kvasir.telemetry.BucketCounts;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class VitalsHandlerTest {
  private static final String SELF = "10.0.0.1:25520";
  private static final String OTHER = "10.0.0.2:25520";
  private static final Problem NO_WORKER = Problem.error("no worker", "start one");

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Counter requests =
      Counter.builder().name("kvasir_requests_total").help("h").labelNames("status").register(registry);
  private final Counter prompt =
      Counter.builder().name("kvasir_usage_prompt_tokens_total").help("h").labelNames("cache_report")
          .register(registry);
  private final Counter output = Counter.builder().name("kvasir_usage_output_tokens_total").help("h")
      .register(registry);
  private final Counter cached =
      Counter.builder().name("kvasir_cached_tokens_total").help("h").labelNames("kind").register(registry);
  private final Counter regret = Counter.builder().name("kvasir_regret_tokens_total").help("h").register(registry);
  private final Gauge inFlight = Gauge.builder().name("kvasir_requests_in_flight").help("h").register(registry);
  private final Histogram ttft =
      Histogram.builder().name("kvasir_ttft_seconds").help("h").classicOnly().classicUpperBounds(1, 2, 4)
          .register(registry);
  private final ManualClock clock = new ManualClock();
  private final VitalsMeter meter = new VitalsMeter(new Metrics(registry), clock);
  private final OtherNodes nodes = new OtherNodes();
  private final VitalsHandler vitals =
      new VitalsHandler(
          nodes,
          new FakeCells(),
          () ->
              new ClusterStatus(
                  List.of(node(SELF, "up", true), node(OTHER, "up", true), node("10.0.0.3:25520", "up", false)),
                  List.of(), List.of()),
          InstantSource.fixed(Instant.EPOCH));

  @Test
  void figures_areOfTheLastSeconds() throws IOException {
    serve();

    JsonNode shown = shown();
    assertThat(shown.path("requests_per_s").asDouble()).isEqualTo(3.5);
    assertThat(shown.path("errors_per_s").asDouble()).isEqualTo(0.5);
    assertThat(shown.at("/tokens/prompt_per_s").asDouble()).isEqualTo(150);
    assertThat(shown.at("/tokens/output_per_s").asDouble()).isEqualTo(20);
    assertThat(shown.at("/tokens/ever").asDouble()).isEqualTo(0.95);
    assertThat(shown.at("/tokens/best").asDouble()).isEqualTo(0.9);
    assertThat(shown.at("/tokens/promised").asDouble()).isEqualTo(0.8);
    assertThat(shown.path("regret").asDouble()).isEqualTo(0.5);
    assertThat(shown.at("/tokens/delivered").asDouble()).isEqualTo(0.75);
    assertThat(shown.at("/ttft_ms/p50").asDouble()).isEqualTo(500);
    assertThat(shown.at("/ttft_ms/p90").asDouble()).isEqualTo(900);
    assertThat(shown.at("/ttft_ms/p99").asDouble()).isEqualTo(990);
  }

  @Test
  void withoutTraffic_sharesAndTimesAreNull() throws IOException {
    JsonNode shown = shown();

    assertThat(shown.path("requests_per_s").asDouble()).isZero();
    assertThat(shown.at("/tokens/promised").isNull()).isTrue();
    assertThat(shown.at("/ttft_ms/p50").isNull()).isTrue();
    assertThat(shown.at("/by_node/0/share").isNull()).isTrue();
    assertThat(shown.at("/problems/0").toString())
        .isEqualTo(
            "{\"severity\":\"error\",\"what\":\"no worker\",\"remedy\":\"start one\",\"nodes\":[\"" + SELF + "\"]}");
    assertThat(shown.path("nodes").toString()).isEqualTo("{\"up\":2,\"known\":3,\"counted\":1}");
  }

  @Test
  void nodes_areAddedUp_withSharesAndQuantilesOfAllTheirRequests() throws IOException {
    serve();
    nodes.others.put(
        OTHER,
        report(
            OTHER,
            Map.of(
                VitalFigure.REQUESTS, 10.5, VitalFigure.IN_FLIGHT, 4.0, VitalFigure.PROMPT_TOKENS, 300.0,
                VitalFigure.REPORTED_TOKENS, 300.0, VitalFigure.DELIVERED_TOKENS, 0.0),
            new BucketCounts(List.of(2.0, 4.0), List.of(0.0, 0.3)),
            List.of(NO_WORKER)));

    JsonNode shown = shown();
    assertThat(shown.path("scope").asText()).isEqualTo("cluster");
    assertThat(shown.path("requests_per_s").asDouble()).isEqualTo(14);
    assertThat(shown.path("in_flight").asInt()).isEqualTo(6);
    assertThat(shown.at("/tokens/prompt_per_s").asDouble()).isEqualTo(450);
    assertThat(shown.at("/tokens/delivered").asDouble()).as("75 of 400 tokens a second").isEqualTo(0.1875);
    assertThat(shown.at("/ttft_ms/p50").asDouble()).as("three of four took 2 to 4 s").isBetween(2000.0, 4000.0);
    assertThat(shown.path("by_node")).extracting(node -> node.path("node").asText()).containsExactly(SELF, OTHER);
    assertThat(shown.path("by_node")).extracting(node -> node.path("share").asDouble()).containsExactly(0.25, 0.75);
    assertThat(shown.path("by_node")).extracting(node -> node.path("requests_per_s").asDouble())
        .containsExactly(3.5, 10.5);
    assertThat(shown.at("/by_node/0/ttft_ms/p50").asDouble()).isEqualTo(500);
    assertThat(shown.path("problems")).hasSize(1);
    assertThat(shown.at("/problems/0/nodes")).extracting(JsonNode::asText).containsExactly(SELF, OTHER);
  }

  @Test
  void nodeThatDoesNotAnswer_isNamed_andNotCounted() throws IOException {
    nodes.missing.add(OTHER);

    JsonNode shown = shown();
    assertThat(shown.at("/by_node/1").toString()).isEqualTo("{\"node\":\"" + OTHER + "\",\"answers\":false}");
    assertThat(shown.at("/nodes/counted").asInt()).isEqualTo(1);
    assertThat(shown.path("problems")).extracting(problem -> problem.path("what").asText())
        .containsExactly("no worker", "node " + OTHER + " does not tell its figures, so the sums are without it");
  }

  @Test
  void history_isOfAllNodes_oldestFirst() throws IOException {
    for (int step = 1; step <= 3; step++) {
      requests.labelValues("2xx").inc(10L * step);
      clock.advance(VitalsMeter.STEP);
      meter.sample();
    }
    clock.advance(Duration.ofSeconds(2));
    nodes.histories.put(
        OTHER,
        Stream.of(4.1, 9.0).map(age -> new VitalSample(age, figures(Map.of(VitalFigure.REQUESTS, 1.0)))).toList());

    JsonNode history = TestAdmin.call(vitals, "GET", "/admin/vitals/history", "", 200);

    assertThat(history.path("step_s").asInt()).isEqualTo(5);
    assertThat(history.path("missing_nodes")).isEmpty();
    assertThat(history.path("samples")).extracting(sample -> sample.path("requests_per_s").asDouble())
        .containsExactly(2.0, 4 + 1.0, 6 + 1.0);
    assertThat(history.path("samples")).extracting(sample -> sample.path("nodes").asInt())
        .containsExactly(1, 2, 2);
  }

  private void serve() {
    clock.advance(Duration.ofSeconds(10));
    requests.labelValues("2xx").inc(30);
    requests.labelValues("5xx").inc(5);
    prompt.labelValues("true").inc(1000);
    prompt.labelValues("false").inc(500);
    output.inc(200);
    cached.labelValues("ever").inc(950);
    cached.labelValues("best").inc(900);
    cached.labelValues("predicted").inc(800);
    regret.inc(100);
    cached.labelValues("actual").inc(750);
    inFlight.set(2);
    ttft.observe(0.5);
  }

  private JsonNode shown() throws IOException {
    return TestAdmin.call(vitals, "GET", "/admin/vitals", "", 200);
  }

  private static ClusterStatus.NodeStatus node(String address, String state, boolean reachable) {
    return new ClusterStatus.NodeStatus(address, state, reachable, "1.2.3", false, null, null);
  }

  private static VitalFigures figures(Map<VitalFigure, Double> values) {
    Map<VitalFigure, Double> all = new EnumMap<>(VitalFigure.class);
    for (VitalFigure figure : VitalFigure.values()) {
      all.put(figure, values.getOrDefault(figure, 0.0));
    }
    return new VitalFigures(List.copyOf(all.values()), BucketCounts.EMPTY);
  }

  private static NodeReport report(
      String node, Map<VitalFigure, Double> values, BucketCounts ttft, List<Problem> problems) {
    return new NodeReport(node, "1.2.3", 60, false, 10, new VitalFigures(figures(values).values(), ttft), problems);
  }

  /** This node as its meter has it, and others as a test says. */
  private final class OtherNodes implements ClusterVitals {
    private final SequencedMap<String, NodeReport> others = new LinkedHashMap<>();
    private final SequencedMap<String, List<VitalSample>> histories = new LinkedHashMap<>();
    private final List<String> missing = new ArrayList<>();

    @Override
    public Answers<NodeReport> reports() {
      VitalsMeter.Measured now = meter.now();
      SequencedMap<String, NodeReport> reports = new LinkedHashMap<>(others);
      reports.putFirst(
          SELF, new NodeReport(SELF, "1.2.3", 60, false, now.seconds(), now.figures(), List.of(NO_WORKER)));
      return new Answers<>(reports, missing);
    }

    @Override
    public Answers<List<VitalSample>> histories() {
      SequencedMap<String, List<VitalSample>> all = new LinkedHashMap<>(histories);
      all.putFirst(SELF, meter.history());
      return new Answers<>(all, missing);
    }
  }
}
