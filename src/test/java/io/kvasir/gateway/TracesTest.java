package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.kvasir.cell.Decision;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.http.client.ScriptedPod.ReceivedRequest;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.OtlpCollector;
import io.kvasir.tracing.OtlpCollector.CollectedSpan;
import io.kvasir.tracing.Tracing;
import io.kvasir.tracing.TracingException;
import io.kvasir.tracing.TracingSettings;
import io.opentelemetry.proto.trace.v1.Span.SpanKind;
import io.opentelemetry.proto.trace.v1.Status.StatusCode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The spans of requests as a collector gets them, and the trace context as engines get it. */
final class TracesTest {
  private static final String COMPLETIONS = "/v1/completions";
  private static final String BODY =
      "{\"model\":\"m\",\"prompt\":\"a secret word\",\"max_tokens\":9,\"temperature\":0.5}";
  private static final String ANSWER = """
      {"id":"cmpl-1","choices":[{"index":0,"text":"a secret word","finish_reason":"length"}],
       "usage":{"prompt_tokens":40,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":32}}}""";
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String PARENT = "00-" + TRACE + "-b7ad6b7169203331-01";
  private static final TracingSettings.Rule[] RULES = TracingSettings.Rule.values();

  private final OtlpCollector collector;
  private final List<ScriptedPod> pods = new ArrayList<>();
  private final List<SimEngine> engines = new ArrayList<>();
  private TestRouter router;

  TracesTest() throws IOException {
    collector = new OtlpCollector();
    router = router(TestRouter.EXECUTION, "", 1);
  }

  @BeforeEach
  void start() throws IOException {
    router.close();
    router = router(TestRouter.EXECUTION, "", 1);
  }

  @AfterEach
  void stop() {
    router.close();
    pods.forEach(ScriptedPod::close);
    engines.forEach(SimEngine::close);
    collector.close();
  }

  private TestRouter router(ExecutionSettings execution, String profiles, double sample) throws IOException {
    TracingSettings settings = settings(sample);
    return new TestRouter(
        execution, profiles, ProfileChoice.always("random", false), metrics -> tracing(settings, metrics));
  }

  private TracingSettings settings(double sample) {
    return new TracingSettings(collector.url(), "kvasir", sample, Set.of(RULES), Duration.ofSeconds(20));
  }

  private static Tracing tracing(TracingSettings settings, Metrics metrics) throws IOException {
    try {
      return Tracing.start(
          settings, Map.of("OTEL_BSP_SCHEDULE_DELAY", "1"), "node-1", metrics, NanoClock.SYSTEM,
          InstantSource.system());
    } catch (TracingException e) {
      throw new IOException(e);
    }
  }

  private ScriptedPod pod(String id, ScriptedPod.Script script) {
    ScriptedPod pod = new ScriptedPod(script);
    pods.add(pod);
    router.cells.worker(id, pod.url(), "m");
    return pod;
  }

  private static CollectedSpan named(List<CollectedSpan> spans, String name) {
    return spans.stream().filter(span -> span.name().equals(name)).findFirst().orElseThrow();
  }

  private static List<CollectedSpan> legs(List<CollectedSpan> spans) {
    return spans.stream().filter(span -> span.span().getKind() == SpanKind.SPAN_KIND_CLIENT).toList();
  }

  private static CollectedSpan server(List<CollectedSpan> spans) {
    return spans.stream().filter(span -> span.span().getKind() == SpanKind.SPAN_KIND_SERVER).findFirst().orElseThrow();
  }

  /** The context that an engine got, in four parts. */
  private static String[] context(ReceivedRequest request) {
    return Objects.requireNonNull(request.headers().only("traceparent")).split("-", -1);
  }

  @Test
  void request_isATreeBelowItsClientsSpan() throws Exception {
    ScriptedPod pod = pod("w0", (request, out) -> out.json(200, ANSWER));
    Instant before = Instant.now();

    router.post(COMPLETIONS, BODY, "traceparent", PARENT, "tracestate", "vendor=1", "baggage", "user=7",
        "X-Request-Id", "id-1");

    List<CollectedSpan> spans = collector.spans(5);
    assertThat(spans).extracting(CollectedSpan::name).containsExactlyInAnyOrder(
        "POST /v1/completions", "kvasir.read", "kvasir.prompt", "kvasir.decide", "text_completion m");
    CollectedSpan server = server(spans);
    assertThat(server.parentId()).isEqualTo("b7ad6b7169203331");
    for (CollectedSpan span : spans) {
      assertThat(span.traceId()).isEqualTo(TRACE);
      assertThat(span.span().toString()).doesNotContain("secret");
      assertThat(span.span().getStartTimeUnixNano()).isBetween(
          TimeUnit.MILLISECONDS.toNanos(before.toEpochMilli()), span.span().getEndTimeUnixNano());
      if (!span.id().equals(server.id())) {
        assertThat(span.parentId()).as(span.name()).isEqualTo(server.id());
        assertThat(span.span().getStartTimeUnixNano()).isGreaterThanOrEqualTo(server.span().getStartTimeUnixNano());
        assertThat(span.span().getEndTimeUnixNano()).isLessThanOrEqualTo(server.span().getEndTimeUnixNano());
      }
    }
    assertThat(server.attribute("http.route")).isEqualTo(COMPLETIONS);
    assertThat(named(spans, "kvasir.prompt").attribute("kvasir.prompt.template.ms")).as("of a bare text").isEmpty();
    assertThat(server.attribute("http.response.status_code")).isEqualTo("200");
    assertThat(server.attribute("client.address")).isEqualTo("127.0.0.1");
    CollectedSpan decide = named(spans, "kvasir.decide");
    assertThat(decide.attribute("kvasir.decision.id")).isEqualTo("id-1");
    assertThat(decide.attribute("kvasir.worker")).isEqualTo("w0");
    assertThat(decide.attribute("kvasir.profile")).isEqualTo("random");
    assertThat(decide.attribute("kvasir.reason")).isNotEmpty();
    CollectedSpan leg = named(spans, "text_completion m");
    assertThat(leg.span().getKind()).isEqualTo(SpanKind.SPAN_KIND_CLIENT);
    assertThat(leg.attribute("kvasir.leg")).isEqualTo("serve");
    assertThat(leg.attribute("server.address")).isEqualTo("127.0.0.1");
    assertThat(leg.attribute("server.port")).isEqualTo(Integer.toString(pod.url().getPort()));
    assertThat(leg.attribute("gen_ai.operation.name")).isEqualTo("text_completion");
    assertThat(leg.attribute("gen_ai.request.model")).isEqualTo("m");
    assertThat(leg.attribute("gen_ai.request.max_tokens")).isEqualTo("9");
    assertThat(leg.attribute("gen_ai.request.temperature")).isEqualTo("0.5");
    assertThat(leg.attribute("gen_ai.response.id")).isEqualTo("cmpl-1");
    assertThat(leg.attribute("gen_ai.response.finish_reasons")).isEqualTo("[length]");
    assertThat(leg.attribute("gen_ai.usage.input_tokens")).isEqualTo("40");
    assertThat(leg.attribute("gen_ai.usage.cache_read.input_tokens")).isEqualTo("32");
    assertThat(leg.attribute("gen_ai.usage.output_tokens")).isEqualTo("2");
    assertThat(leg.attribute("kvasir.tokens.delivered")).isEqualTo("32");
    ReceivedRequest seen = pod.next();
    assertThat(context(seen)).containsExactly("00", TRACE, leg.id(), "01");
    assertThat(seen.headers().only("tracestate")).isEqualTo("vendor=1");
    assertThat(seen.headers().only("baggage")).isEqualTo("user=7");
    assertThat(router.cells.requests.take().traceId()).as("of the decision's record").isEqualTo(TRACE);
  }

  @Test
  void unsampledRequest_hasAContextAllTheSame() throws Exception {
    router.close();
    router = router(TestRouter.EXECUTION, "", 0);
    ScriptedPod pod = pod("w0", (request, out) -> out.json(200, ANSWER));

    router.post(COMPLETIONS, BODY, "traceparent", "malformed", "tracestate", "vendor=1", "baggage", "user=7");

    ReceivedRequest seen = pod.next();
    assertThat(context(seen)).hasSize(4).endsWith("02");
    assertThat(router.cells.requests.take().traceId()).isEqualTo(context(seen)[1]);
    assertThat(seen.headers().has("tracestate")).as("it is another trace's").isFalse();
    assertThat(seen.headers().only("baggage")).isEqualTo("user=7");
    assertThat(collector.received).isEmpty();
  }

  @Test
  void failedTry_isASiblingOfTheNext_andTracedThoughNotInTheSample() throws Exception {
    router.close();
    router = router(TestRouter.EXECUTION, "", 0);
    pod("w0", (request, out) -> out.json(500, "{}"));
    pod("w1", (request, out) -> out.json(200, ANSWER));

    router.post(COMPLETIONS, BODY);

    List<CollectedSpan> spans = collector.spans(7);
    List<CollectedSpan> legs = legs(spans);
    assertThat(legs).hasSize(2).extracting(CollectedSpan::parentId).containsOnly(server(spans).id());
    assertThat(legs).extracting(leg -> leg.attribute("http.request.resend_count")).containsExactly("", "1");
    assertThat(legs.getFirst().span().getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
    assertThat(legs.getFirst().attribute("http.response.status_code")).isEqualTo("500");
    assertThat(legs.getLast().span().getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
    assertThat(server(spans).span().getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
  }

  @Test
  void promptOfOurOwnTemplateAndTokenizer_tellsHowLongTheyTook() throws Exception {
    router.close();
    TracingSettings settings = settings(1);
    router = new TestRouter(
        metrics -> Prompts.load(
            List.of(ModelConfig.demo("m", 16)), PromptSettings.ofMemo(1 << 20), _ -> null, Runnable::run,
            Clock.systemUTC(), NanoClock.SYSTEM, metrics),
        metrics -> tracing(settings, metrics));
    pod("w0", (request, out) -> out.json(200, ANSWER));

    router.post("/v1/chat/completions", "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");

    CollectedSpan prompt = named(collector.spans(5), "kvasir.prompt");
    assertThat(prompt.attribute("kvasir.prompt.mode")).isEqualTo("exact");
    double template = Double.parseDouble(prompt.attribute("kvasir.prompt.template.ms"));
    double tokens = Double.parseDouble(prompt.attribute("kvasir.prompt.tokens.ms"));
    long nanos = prompt.span().getEndTimeUnixNano() - prompt.span().getStartTimeUnixNano();
    assertThat(template).isPositive();
    assertThat(tokens).isPositive();
    assertThat(template + tokens).isLessThanOrEqualTo(nanos / 1e6);
  }

  /** Those that reach no API: there is no such path, no such method, too long a body. */
  @Test
  void requestThatReachesNoApi_isASpanBelowItsClients() throws Exception {
    router.send("POST", "/v2/chat?secret=1", BODY, "traceparent", PARENT, "X-Request-Id", "id-404");
    router.send("GET", "/v1/chat/completions", "", "traceparent", PARENT, "X-Request-Id", "id-405");
    router.send("POST", "/v1/chat/completions", "x".repeat((1 << 20) + 1), "traceparent", PARENT,
        "X-Request-Id", "id-413");

    List<CollectedSpan> spans = collector.spans(3);
    assertThat(spans).allSatisfy(span -> {
      assertThat(span.span().getKind()).isEqualTo(SpanKind.SPAN_KIND_SERVER);
      assertThat(span.traceId()).isEqualTo(TRACE);
      assertThat(span.parentId()).isEqualTo("b7ad6b7169203331");
      assertThat(span.attribute("client.address")).isEqualTo("127.0.0.1");
      assertThat(span.span().toString()).doesNotContain("secret");
      // Of a server's span 4xx is the client's error.
      assertThat(span.span().getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
    });
    assertThat(spans).extracting(
            CollectedSpan::name, span -> span.attribute("kvasir.request.id"), span -> span.attribute("url.path"),
            span -> span.attribute("http.response.status_code"), span -> span.attribute("error.type"))
        .containsExactlyInAnyOrder(
            tuple("POST", "id-404", "/v2/chat", "404", "unknown_path"),
            tuple("GET", "id-405", "/v1/chat/completions", "405", "method_not_allowed"),
            tuple("POST", "id-413", "/v1/chat/completions", "413", "request_too_large"));
  }

  @Test
  void requestWithoutAWholeHead_isATraceOfItsOwn() throws Exception {
    try (Socket client = router.connect()) {
      String malformed = "GET /v1/models HTTP/1.1\r\nHost : x\r\n\r\n";
      client.getOutputStream().write(malformed.getBytes(StandardCharsets.US_ASCII));
      assertThat(TestRouter.rest(client)).startsWith("HTTP/1.1 400 ");
    }
    CollectedSpan span = collector.spans(1).getFirst();
    assertThat(span.name()).isEqualTo("HTTP");
    assertThat(span.attribute("http.request.method")).isEqualTo("_OTHER");
    assertThat(span.attribute("error.type")).isEqualTo("bad_request");
  }

  @Test
  void refusal_isTracedThoughNotInTheSample() throws Exception {
    router.close();
    router = router(TestRouter.EXECUTION, "", 0);
    ScriptedPod pod = pod("w0", (request, out) -> out.json(200, ANSWER));
    router.cells.refuse = true;
    router.cells.otherwise = Decision.NoWorkerReason.ALL_FULL;

    router.post(COMPLETIONS, BODY, "traceparent", "00-" + TRACE + "-b7ad6b7169203331-00");

    List<CollectedSpan> spans = collector.spans(5);
    assertThat(named(spans, "kvasir.admit").attribute("kvasir.outcome")).isEqualTo("refused");
    assertThat(named(spans, "kvasir.admit").attribute("error.type")).isEqualTo("all_workers_full");
    assertThat(named(spans, "kvasir.decide").attribute("kvasir.reason")).startsWith("all_full: ");
    assertThat(named(spans, "POST /v1/completions").attribute("http.response.status_code")).isEqualTo("429");
    assertThat(named(spans, "POST /v1/completions").traceId()).isEqualTo(TRACE);
    assertThat(pod.seen).isEmpty();
  }

  @Test
  void stream_saysWhenItsFirstTokenCame() throws Exception {
    ScriptedPod pod = pod("w0", (request, out) -> out.stream(List.of(
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n", "data: [DONE]\n\n")));

    router.post(COMPLETIONS, BODY.replace("\"max_tokens\"", "\"stream\":true,\"max_tokens\""));

    List<CollectedSpan> spans = collector.spans(5);
    CollectedSpan leg = legs(spans).getFirst();
    assertThat(Double.parseDouble(leg.attribute("gen_ai.response.time_to_first_chunk"))).isPositive();
    assertThat(leg.attribute("gen_ai.request.stream")).isEqualTo("true");
    assertThat(context(pod.next())[2]).isEqualTo(leg.id());
    String metrics = openMetrics();
    assertThat(metrics).containsPattern("kvasir_ttft_seconds_bucket\\{.*} 1 # \\{span_id=\""
        + server(spans).id() + "\",trace_id=\"" + server(spans).traceId() + "\"}");
    assertThat(metrics).containsPattern("kvasir_request_seconds_bucket\\{.*} 1 # \\{span_id=");
  }

  private String openMetrics() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new Metrics(router.registry).write("application/openmetrics-text", out);
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void prefillAndDecode_areSiblings() throws Exception {
    ScriptedPod prefill = new ScriptedPod((request, out) ->
        out.json(200, "{\"id\":\"p\",\"kv_transfer_params\":{\"remote_engine_id\":\"e\"}}"));
    ScriptedPod decode = new ScriptedPod((request, out) -> out.json(200, ANSWER));
    pods.addAll(List.of(prefill, decode));
    router.cells.splitter("p", prefill.url(), Role.PREFILL, Dialect.VLLM_NIXL, "m");
    router.cells.splitter("d", decode.url(), Role.DECODE, Dialect.VLLM_NIXL, "m");

    router.post(COMPLETIONS, BODY);

    List<CollectedSpan> spans = collector.spans(6);
    List<CollectedSpan> legs = legs(spans);
    assertThat(legs).extracting(leg -> leg.attribute("kvasir.leg")).containsExactly("prefill", "decode");
    assertThat(legs).extracting(CollectedSpan::parentId).containsOnly(server(spans).id());
    assertThat(context(prefill.next())[2]).isEqualTo(legs.getFirst().id());
    assertThat(context(decode.next())[2]).isEqualTo(legs.getLast().id());
  }

  @Test
  void hedge_isASiblingOfTheRequestItDoubles() throws Exception {
    router.close();
    ExecutionSettings usual = TestRouter.EXECUTION;
    router = router(
        new ExecutionSettings(
            usual.retries(), usual.firstByte(), usual.idle(), usual.total(), usual.maxBufferedBytes(),
            Duration.ofMillis(1), 100),
        "", 1);
    pod("w0", (request, out) -> out.awaitClosed());
    pod("w1", (request, out) -> out.json(200, ANSWER));

    router.post(COMPLETIONS, BODY);

    List<CollectedSpan> legs = legs(collector.spans(7));
    assertThat(legs).extracting(leg -> leg.attribute("kvasir.leg")).containsExactlyInAnyOrder("serve", "hedge");
  }

  @Test
  void resumption_isASiblingOfTheStreamThatWasCut() throws Exception {
    router.close();
    router = router(TestRouter.EXECUTION, "random { execute { resumes = 2 } }", 1);
    engine("a", 0.25, "cut=1x");
    engine("b", 0, "");

    router.post("/v1/completions", """
        {"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"max_tokens":40,
         "ignore_eos":true,"model":"m","prompt":"Tell me of the king who counted every tree in his land."}""");

    await(() -> router.metric("kvasir_resumes", "resumed") == 1);
    List<CollectedSpan> legs = legs(collector.spans(7));
    assertThat(legs).extracting(leg -> leg.attribute("kvasir.leg")).containsExactly("serve", "resume");
    assertThat(legs.getFirst().span().getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
  }

  private void engine(String id, double speed, String fault) throws IOException {
    SimEngine engine = SimEngine.start(SimSettings.builder()
        .model("m").speed(speed).port(0).capacityBlocks(512).events(EventSettings.OFF)
        .faults(fault.isEmpty() ? List.of() : List.of(InjectedFault.parse(fault))).build());
    engines.add(engine);
    router.cells.worker(id, engine.url(), "m");
  }
}
