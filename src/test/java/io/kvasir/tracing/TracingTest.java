package io.kvasir.tracing;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.app.Certificates;
import io.kvasir.http.Headers;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.OtlpCollector.CollectedSpan;
import io.kvasir.tracing.OtlpCollector.Received;
import io.kvasir.tracing.TracedRequest.Arrival;
import io.kvasir.tracing.TracedRequest.End;
import io.kvasir.tracing.TracingSettings.Rule;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which requests are exported, and how, at a collector of OTLP over HTTP. */
final class TracingTest {
  private static final Arrival ARRIVAL =
      new Arrival(
          "POST", "/v1/completions", "/v1/completions", InetAddress.getLoopbackAddress(), "id-1", "text_completion",
          "openai");
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final OtlpCollector collector;
  private @Nullable Tracing tracing;

  TracingTest() throws IOException {
    collector = new OtlpCollector();
  }

  @AfterEach
  void stop() {
    if (tracing != null) {
      tracing.close();
    }
    collector.close();
  }

  private Tracing start(TracingSettings settings, String... environment) throws TracingException {
    Map<String, String> variables = new HashMap<>(Map.of("OTEL_BSP_SCHEDULE_DELAY", "1"));
    for (int i = 0; i < environment.length; i += 2) {
      variables.put(environment[i], environment[i + 1]);
    }
    Tracing started =
        Tracing.start(settings, variables, "node-1", new Metrics(registry), NanoClock.SYSTEM, InstantSource.system());
    tracing = started;
    return started;
  }

  private TracingSettings settings(double sample, Rule... always) {
    return new TracingSettings(collector.url(), "kvasir", sample, Set.of(always), Duration.ofSeconds(2));
  }

  private static TracedRequest begin(Tracing tracing, String... headers) {
    return Objects.requireNonNull(tracing.begin(Headers.of(headers), ARRIVAL));
  }

  /** A request that takes so long; true when it is exported. */
  private static boolean request(Tracing tracing, int status, boolean refused, Duration time, String... headers) {
    TracedRequest request = begin(tracing, headers);
    return tracing.ended(request, new End(status, null, refused, request.startNanos() + time.toNanos()));
  }

  private static boolean request(Tracing tracing, String... headers) {
    return request(tracing, 200, false, Duration.ofMillis(5), headers);
  }

  private double spans(String result) {
    return registry.scrape(name -> name.equals("kvasir_trace_spans")).stream()
        .flatMap(found -> ((CounterSnapshot) found).getDataPoints().stream())
        .filter(point -> result.equals(point.getLabels().get("result")))
        .mapToDouble(CounterSnapshot.CounterDataPointSnapshot::getValue)
        .sum();
  }

  @Test
  void spans_areCompressedProtobufAtTheStandardPath() throws Exception {
    Tracing running = start(settings(1), "OTEL_RESOURCE_ATTRIBUTES", "team=blue", "OTEL_EXPORTER_OTLP_HEADERS", "k=v");
    TracedRequest request = begin(running, "traceparent", "00-" + TRACE + "-b7ad6b7169203331-01");

    running.ended(request, new End(200, null, false, request.startNanos() + 1_500_000));

    Received message = collector.next();
    assertThat(message.path()).isEqualTo("/v1/traces");
    assertThat(message.headers()).containsEntry("Content-Type", "application/x-protobuf")
        .containsEntry("Content-Encoding", "gzip").containsEntry("k", "v");
    CollectedSpan span = collector.spans(1).getFirst();
    assertThat(span.name()).isEqualTo("POST /v1/completions");
    assertThat(span.traceId()).isEqualTo(TRACE);
    assertThat(span.parentId()).isEqualTo("b7ad6b7169203331");
    assertThat(span.id()).isEqualTo(request.context().spanId());
    assertThat(span.span().getEndTimeUnixNano() - span.span().getStartTimeUnixNano()).isEqualTo(1_500_000);
    assertThat(span.resourceAttribute("service.name")).isEqualTo("kvasir");
    assertThat(span.resourceAttribute("service.instance.id")).isEqualTo("node-1");
    assertThat(span.resourceAttribute("team")).isEqualTo("blue");
    assertThat(span.attribute("kvasir.request.id")).isEqualTo("id-1");
    await(() -> spans("exported") == 1);
  }

  @Test
  void decisionOfAnotherNode_namesBoth() throws Exception {
    Tracing running = start(settings(1));
    TracedRequest request = begin(running);
    request.decided(
        new TracedDecision(
            request.startNanos() + 10, request.startNanos() + 30, "expected-cost", "w1", "expected-cost; depth=3/4",
            new TracedDecision.Tokens(64, 48, 32), new TracedDecision.Origin("line", "m-0", "10.0.0.2:7600")));

    running.ended(request, new End(200, null, false, request.startNanos() + 40));

    List<CollectedSpan> spans = collector.spans(2);
    CollectedSpan decide = spans.getLast();
    assertThat(decide.name()).isEqualTo("kvasir.decide");
    assertThat(decide.resourceAttribute("service.instance.id")).isEqualTo("node-1");
    assertThat(decide.attribute("kvasir.home")).isEqualTo("10.0.0.2:7600");
    assertThat(decide.attribute("kvasir.way")).isEqualTo("line");
    assertThat(decide.attribute("kvasir.cell")).isEqualTo("m-0");
    assertThat(decide.attribute("kvasir.tokens.prompt")).isEqualTo("64");
    assertThat(decide.attribute("kvasir.tokens.best")).isEqualTo("48");
    assertThat(decide.attribute("kvasir.tokens.promised")).isEqualTo("32");
    assertThat(decide.span().getEndTimeUnixNano() - decide.span().getStartTimeUnixNano()).isEqualTo(20);
  }

  @Test
  void requestThatEndsTwice_isExportedOnce() throws Exception {
    Tracing running = start(settings(1));
    TracedRequest request = begin(running);
    assertThat(running.ended(request, new End(200, null, false, request.startNanos() + 1))).isTrue();
    assertThat(running.ended(request, new End(500, "again", false, request.startNanos() + 2))).isFalse();

    running.close();

    assertThat(spans("exported")).isEqualTo(1);
    assertThat(collector.spans(1).getFirst().attribute("http.response.status_code")).isEqualTo("200");
  }

  @Test
  void environment_goesBeforeTheSettings() throws Exception {
    Tracing running =
        start(
            new TracingSettings("http://127.0.0.1:1", "kvasir", 0, Set.of(), Duration.ZERO),
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.url() + "/own/path", "OTEL_SERVICE_NAME", "front",
            "OTEL_TRACES_SAMPLER", "always_on", "OTEL_EXPORTER_OTLP_COMPRESSION", "none");

    request(running, "traceparent", "00-" + TRACE + "-b7ad6b7169203331-00");

    Received message = collector.next();
    assertThat(message.path()).isEqualTo("/own/path");
    assertThat(message.headers()).doesNotContainKey("Content-Encoding");
    assertThat(collector.spans(1).getFirst().resourceAttribute("service.name")).isEqualTo("front");
  }

  @ParameterizedTest
  @CsvSource({"OTEL_SDK_DISABLED, true", "OTEL_TRACES_EXPORTER, none"})
  void environment_turnsTracesOff(String variable, String value) throws Exception {
    assertThat(start(settings(1), variable, value)).isSameAs(Tracing.OFF);
  }

  @Test
  void withoutACollector_nothingIsTraced() throws Exception {
    assertThat(start(TracingSettings.OFF)).isSameAs(Tracing.OFF);
    assertThat(start(TracingSettings.OFF, "OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())).isNotSameAs(Tracing.OFF);
  }

  @ParameterizedTest
  @CsvSource({
    "OTEL_EXPORTER_OTLP_PROTOCOL, grpc, 4318", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, http/json, http/protobuf",
    "OTEL_TRACES_EXPORTER, zipkin, otlp", "OTEL_TRACES_SAMPLER, xray, parentbased_",
    "OTEL_TRACES_SAMPLER_ARG, 7, 0 to 1", "OTEL_TRACES_SAMPLER_ARG, some, 0 to 1",
    "OTEL_EXPORTER_OTLP_ENDPOINT, ftp://x, OTEL_", "OTEL_BSP_MAX_QUEUE_SIZE, many, OTEL_"
  })
  void whatCannotBeExported_saysWhatToDo(String variable, String value, String remedy) {
    assertThatThrownBy(() -> start(settings(1), variable, value))
        .isInstanceOf(TracingException.class).hasMessageContaining(remedy);
  }

  @Test
  void parent_decides() throws Exception {
    Tracing none = start(settings(0));
    assertThat(request(none, "traceparent", "00-" + TRACE + "-b7ad6b7169203331-01")).isTrue();
    assertThat(request(none)).isFalse();
    assertThat(begin(none).context().isSampled()).isFalse();
  }

  @Test
  void unsampledParent_isNotTraced() throws Exception {
    Tracing all = start(settings(1));
    assertThat(request(all, "traceparent", "00-" + TRACE + "-b7ad6b7169203331-00")).isFalse();
    assertThat(request(all)).isTrue();
  }

  @Test
  void share_isOfTraceIds() throws Exception {
    Tracing tenth = start(settings(0.1), "OTEL_BSP_MAX_QUEUE_SIZE", "1");
    int sampled = 0;
    for (int i = 0; i < 20_000; i++) {
      sampled += begin(tenth).context().isSampled() ? 1 : 0;
    }
    assertThat(sampled).isBetween(1_700, 2_300);
  }

  @ParameterizedTest
  @ValueSource(strings = {"malformed", "00-" + TRACE + "-b7ad6b7169203331", "twice"})
  void malformedParent_isIgnored(String header) throws Exception {
    Tracing all = start(settings(1));
    String parent = "00-" + TRACE + "-b7ad6b7169203331-01";
    TracedRequest request =
        header.equals("twice")
            ? begin(all, "traceparent", parent, "traceparent", parent) : begin(all, "traceparent", header);
    assertThat(request.context().traceId()).isNotEqualTo(TRACE);
    assertThat(request.isContinued()).isFalse();
  }

  @Test
  void errorsRefusalsAndSlowOnes_areTracedThoughNotInTheSample() throws Exception {
    Tracing some = start(settings(0, Rule.values()));
    Duration quick = Duration.ofMillis(1);
    assertThat(request(some, 200, false, quick)).isFalse();
    assertThat(request(some, 404, false, quick)).isFalse();
    assertThat(request(some, 502, false, quick)).isTrue();
    assertThat(request(some, 429, true, quick)).isTrue();
    assertThat(request(some, 200, false, Duration.ofSeconds(3))).isTrue();
    List<CollectedSpan> spans = collector.spans(4);
    assertThat(spans).extracting(span -> span.attribute("http.response.status_code"))
        .containsExactlyInAnyOrder("502", "429", "", "200");
  }

  @ParameterizedTest
  @ValueSource(ints = {429, 502, 503, 504})
  void collectorThatIsBusy_getsThemLater(int status) throws Exception {
    collector.answer(status, "0");
    request(start(settings(1)));

    assertThat(collector.next().status()).isEqualTo(status);
    assertThat(collector.next().status()).isEqualTo(200);
    collector.spans(1);
    await(() -> spans("exported") == 1);
    assertThat(spans("failed")).isZero();
  }

  @Test
  void retryAfter_isWaitedFor() throws Exception {
    collector.answer(503, "1");
    request(start(settings(1)));

    long refused = collector.next().nanos();
    assertThat(Duration.ofNanos(collector.next().nanos() - refused)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void collectorThatRefuses_isAProblemUntilItDoesNot() throws Exception {
    collector.answer(400, "");
    Tracing running = start(settings(1));
    request(running);

    await(() -> spans("failed") == 1);
    await(() -> !running.problems().isEmpty());
    assertThat(running.problems()).extracting(Problem::what).first().asString().contains("answered 400");

    request(running);
    await(() -> running.problems().isEmpty());
    assertThat(spans("exported")).isEqualTo(1);
  }

  @Test
  void spansThatTheCollectorRejects_areCounted() throws Exception {
    collector.reject(1, "no room");
    request(start(settings(1)));

    await(() -> spans("rejected") == 1);
    assertThat(spans("exported")).isZero();
  }

  @ParameterizedTest
  @CsvSource({"5, 1", "-3, 0"})
  void collectorThatRejectsWhatItCannotHaveGot_stopsNothing(long rejected, double counted) throws Exception {
    collector.reject(rejected, "confused");
    Tracing running = start(settings(1));
    request(running);
    await(() -> spans("exported") + spans("rejected") == 1);
    assertThat(spans("rejected")).isEqualTo(counted);

    request(running);
    await(() -> spans("exported") + spans("rejected") == 2);
  }

  @Test
  void requestWhoseSpansCannotBeBuilt_isAProblemAndStopsNothing() throws Exception {
    Tracing running = start(settings(1));
    TracedRequest withoutClient =
        Objects.requireNonNull(
            running.begin(Headers.EMPTY, new Arrival("POST", "/", "/", null, "id", "text_completion", "openai")));
    running.ended(withoutClient, new End(200, null, false, withoutClient.startNanos()));
    await(() -> spans("failed") == 1);
    await(() -> !running.problems().isEmpty());

    request(running);
    await(() -> running.problems().isEmpty());
    assertThat(spans("exported")).isEqualTo(1);
  }

  @Test
  void collectorWithTls_isTrustedByTheEnvironmentsCertificate_andGetsTheRouters(@TempDir Path directory)
      throws Exception {
    Certificates made = new Certificates(directory).authority("ca").server("collector", "ca").server("router", "ca");
    TlsFiles files =
        new TlsFiles(
            Path.of(made.certificate("collector")), Path.of(made.key("collector")), Path.of(made.certificate("ca")),
            TlsFiles.Verification.AUTHORITY, Duration.ofHours(1));
    try (OtlpCollector encrypted = new OtlpCollector(new ReloadingTls(files, NanoClock.SYSTEM).context())) {
      Tracing running =
          start(
              settings(1), "OTEL_EXPORTER_OTLP_ENDPOINT", encrypted.url(),
              "OTEL_EXPORTER_OTLP_CERTIFICATE", made.certificate("ca"),
              "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", made.certificate("router"),
              "OTEL_EXPORTER_OTLP_CLIENT_KEY", made.key("router"));
      request(running);

      await(() -> spans("exported") + spans("failed") == 1);
      assertThat(running.problems()).isEmpty();
      assertThat(encrypted.spans(1)).hasSize(1);
    }
  }

  @Test
  void unreachableCollector_losesSpansAndStopsNothing() throws Exception {
    collector.close();
    Tracing running = start(settings(1), "OTEL_BSP_EXPORT_TIMEOUT", "100");
    request(running);

    await(() -> spans("failed") == 1);
    await(() -> !running.problems().isEmpty());
  }

  /** What is being exported, at most as much as fits into the queue, has left it. */
  @Test
  void fullQueue_dropsAndCounts() throws Exception {
    CountDownLatch answering = collector.hold();
    Tracing running =
        start(settings(1), "OTEL_BSP_MAX_QUEUE_SIZE", "3", "OTEL_BSP_SCHEDULE_DELAY", "600000");
    for (int i = 0; i < 12; i++) {
      request(running);
    }
    int dropped = (int) spans("dropped");
    assertThat(dropped).isBetween(12 - 2 * 3, 12 - 3);

    answering.countDown();
    running.close();

    assertThat(collector.spans(12 - dropped)).hasSize(12 - dropped);
    assertThat(spans("exported")).isEqualTo(12 - dropped);
  }

  @Test
  void fullBatch_doesNotWait() throws Exception {
    Tracing running =
        start(settings(1), "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2", "OTEL_BSP_SCHEDULE_DELAY", "600000");
    request(running);
    request(running);
    assertThat(collector.spans(2)).hasSize(2);
  }
}
