package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ListValue;
import com.google.protobuf.Value;
import io.kvasir.Await;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.FakeCells;
import io.kvasir.picker.extproc.BodySendMode;
import io.kvasir.picker.extproc.CommonResponse;
import io.kvasir.picker.extproc.HeaderAppendAction;
import io.kvasir.picker.extproc.ImmediateResponse;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import io.kvasir.pools.LivePools;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Exact sequences of messages, as gateways send them. */
final class ProxyStreamTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
  private static final String ANSWER =
      "{\"id\":\"c1\",\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,"
          + "\"prompt_tokens_details\":{\"cached_tokens\":4}}}";

  private static TestPicker picker;
  private static FakeCells cells;

  @BeforeAll
  static void start() throws Exception {
    picker = new TestPicker(TestPicker.SETTINGS);
    cells = picker.cells;
  }

  @AfterAll
  static void stop() {
    picker.close();
  }

  @BeforeEach
  void workers() {
    cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
    cells.worker("b", URI.create("http://10.0.0.2:8000"), "m", "n");
  }

  @AfterEach
  void everythingIsGivenBack() {
    Await.await(() -> cells.open.get() == 0);
    Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") == 0);
    assertThat(cells.closedTwice.get()).isZero();
    cells.workers.clear();
    cells.outcomes.clear();
    cells.requests.clear();
    picker.pools.replace(LivePools.Source.KUBERNETES, PoolSet.NONE);
  }

  @Test
  void post_inFullDuplex_goesToTheWorker_andComesBack() throws Exception {
    TestStream stream = picker.stream().head("POST", CHAT, false, "content-type", "application/json");
    stream.body(BODY.substring(0, 10), false).body(BODY.substring(10), false).body("", true);

    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.1:8000")
        .containsEntry("content-length", Integer.toString(BODY.length()));
    assertThat(head.getHeaderMutation().getSetHeadersList())
        .allMatch(set -> set.getAppendAction() == HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD)
        .allMatch(set -> set.getHeader().getValue().isEmpty());
    assertThat(head.getClearRouteCache()).isTrue();
    assertThat(stream.echo()).isEqualTo(BODY);

    stream.responseHead(200, "10.0.0.1:8000", false, "content-type", "application/json");
    stream.responseBody(ANSWER, true);

    CommonResponse response = stream.reply().getResponseHeaders().getResponse();
    assertThat(TestStream.set(response.getHeaderMutation()))
        .containsEntry("x-router-backend", "a")
        .containsKey("x-request-id");
    assertThat(stream.responseEcho()).isEqualTo(ANSWER);
    assertThat(cells.outcome()).isInstanceOfSatisfying(Outcome.Completed.class, completed -> {
      assertThat(completed.promptTokens()).isEqualTo(9);
      assertThat(completed.cachedTokens()).isEqualTo(4);
      assertThat(completed.outputTokens()).isEqualTo(3);
    });
    // Nothing can follow, so the picker does not wait for the proxy's end.
    assertThat(stream.end().isOk()).isTrue();
  }

  @Test
  void events_goBackAsTheyCome() throws Exception {
    TestStream stream = sent(BODY.replace("{\"model", "{\"stream\":true,\"model"));
    stream.responseHead(200, null, false, "content-type", "text/event-stream");
    stream.responseBody("data: {\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", false);

    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(piece(stream)).startsWith("data: {\"id\"");
    Await.await(() -> cells.firstTokens.get() > 0);
    stream.responseBody("data: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1},\"choices\":[]}\n\n", false);
    assertThat(piece(stream)).contains("usage");
    stream.responseBody("data: [DONE]\n\n", false);
    assertThat(piece(stream)).contains("DONE");
    stream.responseBody("", true);

    assertThat(stream.responseEcho()).isEmpty();
    assertThat(stream.end().isOk()).isTrue();
    assertThat(cells.outcome())
        .isInstanceOfSatisfying(
            Outcome.Completed.class, completed -> assertThat(completed.outputTokens()).isEqualTo(1));
  }

  @Test
  void get_isAnsweredAtOnce() throws Exception {
    TestStream stream = picker.stream().head("GET", "/metrics", true);

    assertThat(TestStream.set(stream.destined().getHeaderMutation()))
        .containsKey("x-gateway-destination-endpoint")
        .doesNotContainKey("content-length");
    stream.responseHead(204, null, true);
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    stream.halfClose();
    assertThat(stream.end().isOk()).isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "POST; /v1/unknown; application/json; {\"x\":1}",
        "POST; /v1/audio/transcriptions; multipart/form-data; --b",
        "PUT; /v1/chat/completions; application/json; {\"model\":\"m\"}",
        "POST; /v1/chat/completions; application/json; {\"model\":\"nobody-has-this\",\"messages\":[]}",
        "POST; /v1/chat/completions; application/json; {\"messages\":[]}",
        "POST; /v1/chat/completions; text/plain; not JSON",
        "POST; /v1/../odd//path; application/json; {}",
      })
  void whatIsNotUnderstood_getsAnEndpoint(String method, String path, String type, String body) throws Exception {
    TestStream stream = picker.stream().head(method, path, false, "content-type", type).body(body, true);

    assertThat(TestStream.set(stream.destined().getHeaderMutation())).containsKey("x-gateway-destination-endpoint");
    assertThat(stream.echo()).isEqualTo(body);
    stream.cancel();
  }

  @Test
  void models_areThoseOfAllPools() throws Exception {
    TestStream stream = picker.stream().head("GET", "/v1/models", true);

    ImmediateResponse answer = stream.immediate();
    assertThat(answer.getStatus().getCode()).isEqualTo(200);
    assertThat(answer.getBody().toStringUtf8()).contains("\"id\":\"m\"", "\"id\":\"n\"");
    assertThat(stream.end().isOk()).isTrue();
  }

  @Test
  void noWorker_isAnImmediateResponse_inTheApisShape_withRetryAfter() throws Exception {
    cells.workers.clear();
    ImmediateResponse answer = picker.stream().head("POST", CHAT, false).body(BODY, true).immediate();

    assertThat(answer.getStatus().getCode()).isEqualTo(503);
    assertThat(TestStream.set(answer.getHeaders()))
        .containsEntry("content-type", "application/json")
        .containsEntry("x-llm-d-request-dropped-reason", "rejected-no-endpoints")
        .containsKey("retry-after");
    assertThat(answer.getBody().toStringUtf8()).startsWith("{\"error\":{");

    ImmediateResponse anthropic =
        picker.stream().head("POST", "/v1/messages", false)
            .body("{\"model\":\"m\",\"max_tokens\":1,\"messages\":[]}", true).immediate();
    assertThat(anthropic.getBody().toStringUtf8()).startsWith("{\"type\":\"error\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.2:8000", "10.0.0.2", "10.0.0.9:1, 10.0.0.2:8000"})
  void subset_asText_restrictsTheChoice(String hint) throws Exception {
    assertThat(destination(Value.newBuilder().setStringValue(hint).build())).isEqualTo("10.0.0.2:8000");
  }

  @Test
  void subset_asList_restrictsTheChoice() throws Exception {
    ListValue list =
        ListValue.newBuilder()
            .addValues(Value.newBuilder().setStringValue("10.0.0.3:8000"))
            .addValues(Value.newBuilder().setStringValue("10.0.0.2:8000"))
            .build();

    assertThat(destination(Value.newBuilder().setListValue(list).build())).isEqualTo("10.0.0.2:8000");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10.0.0.3:8000", "10.0.0.2:8001"})
  void subset_withoutAWorker_is503(String hint) throws Exception {
    TestStream stream =
        picker.stream()
            .head(
                BodySendMode.FULL_DUPLEX_STREAMED, Value.newBuilder().setStringValue(hint).build(), "POST", CHAT,
                false)
            .body(BODY, true);

    assertThat(stream.immediate().getStatus().getCode()).isEqualTo(503);
  }

  @Test
  void forgedHeaders_areRemoved() throws Exception {
    TestStream stream =
        picker.stream()
            .head(
                "POST", CHAT, false, "x-gateway-destination-endpoint", "169.254.169.254:80", "x-prefiller-host-port",
                "10.6.6.6:1")
            .body(BODY, true);

    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.1:8000")
        .doesNotContainKey("x-prefiller-host-port");
    assertThat(head.getHeaderMutation().getRemoveHeadersList())
        .contains(
            "x-gateway-destination-endpoint", "x-prefiller-host-port", "x-encoder-hosts-ports",
            "x-data-parallel-host-port", "x-data-parallel-rank", "x-kv-cache-source-host-port");
    stream.cancel();
  }

  @Test
  void objective_isForPluginsOnly() throws Exception {
    TestStream stream =
        picker.stream()
            .head("POST", CHAT, false, "x-gateway-inference-objective", "batch", "x-kvasir-priority", "99")
            .body(BODY, true);

    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation())).doesNotContainKey("x-kvasir-priority");
    assertThat(head.getHeaderMutation().getRemoveHeadersList()).contains("x-kvasir-priority");
    stream.cancel();
  }

  @Test
  void prefillAndDecode_areToldToTheSidecar() throws Exception {
    cells.workers.clear();
    cells.splitter("p", URI.create("http://10.0.1.1:8000"), Role.PREFILL, KvTransfer.Dialect.VLLM_NIXL, "m");
    cells.splitter("d", URI.create("http://10.0.1.2:8000"), Role.DECODE, KvTransfer.Dialect.VLLM_NIXL, "m");
    TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true);

    assertThat(TestStream.set(stream.destined().getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.1.2:8000")
        .containsEntry("x-prefiller-host-port", "10.0.1.1:8000");
    assertThat(stream.echo()).isEqualTo(BODY);
    stream.responseHead(200, null, false, "content-type", "application/json").responseBody(ANSWER, true);
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(stream.responseEcho()).isEqualTo(ANSWER);
  }

  @Test
  void dataParallelRank_isToldToTheSidecar() throws Exception {
    cells.workers.clear();
    cells.worker("p", "p#1", URI.create("http://10.0.1.1:8000"), 1, 2, "m");
    TestStream stream = picker.stream().head("POST", CHAT, false, "x-data-parallel-rank", "0").body(BODY, true);

    assertThat(TestStream.set(stream.destined().getHeaderMutation()))
        .containsEntry("x-data-parallel-rank", "1")
        .containsEntry("x-data-parallel-host-port", "10.0.1.1:8001");
    stream.cancel();
  }

  @Test
  void servedElsewhere_movesTheLoad() throws Exception {
    TestStream stream = sent(BODY);
    stream.responseHead(200, "10.0.0.2:8000", false, "content-type", "application/json");
    stream.responseBody(ANSWER, true);

    assertThat(TestStream.set(stream.reply().getResponseHeaders().getResponse().getHeaderMutation()))
        .containsEntry("x-router-backend", "b");
    assertThat(stream.responseEcho()).isEqualTo(ANSWER);
    assertThat(cells.outcome()).isEqualTo(new Outcome.Cancelled());
    assertThat(cells.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(picker.metric("kvasir_picker_served_elsewhere", "moved")).isEqualTo(1);
  }

  @Test
  void endThatComesTwice_isIgnored() throws Exception {
    TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, true).body("", true);
    stream.destined();
    assertThat(stream.echo()).isEqualTo(BODY);
    stream.body("again", true);

    stream.responseHead(200, null, false, "content-type", "application/json").responseBody(ANSWER, true);
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(stream.responseEcho()).isEqualTo(ANSWER);
  }

  @Test
  void emptyBody_isEndedInTheEcho() throws Exception {
    TestStream stream = picker.stream().head("POST", "/v1/unknown", false).body("", true);
    stream.destined();

    assertThat(stream.echo()).isEmpty();
    stream.cancel();
  }

  @Test
  void trailers_areAnsweredAfterTheBody_inBothDirections() throws Exception {
    TestStream stream = picker.stream().head("POST", CHAT, false).body(BODY, false).trailers();
    stream.destined();
    var piece = stream.reply().getRequestBody().getResponse().getBodyMutation().getStreamedResponse();
    assertThat(piece.getBody().toStringUtf8()).isEqualTo(BODY);
    assertThat(piece.getEndOfStream()).isFalse();
    assertThat(stream.reply().hasRequestTrailers()).isTrue();

    stream.responseHead(200, null, false, "content-type", "application/json");
    stream.responseBody(ANSWER, false).responseTrailers();
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(piece(stream)).isEqualTo(ANSWER);
    assertThat(stream.reply().hasResponseTrailers()).isTrue();
    assertThat(stream.end().isOk()).isTrue();
  }

  @Test
  void longBody_comesBackInPiecesThatEveryProxyTakes() throws Exception {
    String body = BODY.replace("hi", "x".repeat(200_000));
    TestStream stream = picker.stream().head("POST", CHAT, false);
    for (int at = 0; at < body.length(); at += 16_384) {
      stream.body(body.substring(at, Math.min(body.length(), at + 16_384)), false);
    }
    stream.body("", true).destined();
    StringBuilder echo = new StringBuilder();
    boolean last = false;
    while (!last) {
      var piece = stream.reply().getRequestBody().getResponse().getBodyMutation().getStreamedResponse();
      assertThat(piece.getBody().size()).isLessThanOrEqualTo(62_000);
      echo.append(piece.getBody().toStringUtf8());
      last = piece.getEndOfStream();
    }
    assertThat(echo.toString()).isEqualTo(body);
    stream.cancel();
  }

  @Test
  void tooLongBody_is413_byItsLengthOrAsItComes() throws Exception {
    ImmediateResponse declared =
        picker.stream().head("POST", CHAT, false, "content-length", Integer.toString(TestPicker.MAX_BODY + 1))
            .immediate();
    assertThat(declared.getStatus().getCode()).isEqualTo(413);
    assertThat(declared.getBody().toStringUtf8()).contains("request_too_large");
    assertThat(TestStream.set(declared.getHeaders()))
        .containsEntry(
            "x-router-refusal",
            "gate=body; knob=picker.max-body; measured=1048577; limit=1048576; unit=bytes; retryable=false");

    TestStream stream = picker.stream().head("POST", CHAT, false);
    for (int sent = 0; sent <= TestPicker.MAX_BODY; sent += 1 << 18) {
      stream.body("x".repeat(1 << 18), false);
    }
    assertThat(stream.immediate().getStatus().getCode()).isEqualTo(413);
    assertThat(stream.end().isOk()).isTrue();
    assertThat(picker.metric("kvasir_refusals", "body", "picker.max-body")).isEqualTo(2);
  }

  @Test
  void buffered_getsTheDestinationWithTheBody() throws Exception {
    TestStream stream = picker.stream().head(BodySendMode.BUFFERED, null, "POST", CHAT, false);
    assertThat(stream.reply().getRequestHeaders().hasResponse()).isFalse();
    stream.body(BODY, true);
    CommonResponse response = stream.destined();
    assertThat(TestStream.set(response.getHeaderMutation()))
        .containsEntry("content-length", Integer.toString(BODY.length()));
    assertThat(response.hasBodyMutation()).isFalse();

    stream.responseHead(200, null, false, "content-type", "application/json");
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    stream.responseBody(ANSWER, true);
    CommonResponse answer = stream.reply().getResponseBody().getResponse();
    assertThat(answer.getBodyMutation().getBody().toStringUtf8()).isEqualTo(ANSWER);
    assertThat(TestStream.set(answer.getHeaderMutation())).containsEntry("x-router-backend", "a");
    assertThat(cells.outcome()).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void streamed_isDecidedOnItsHead_andEachChunkIsAnswered() throws Exception {
    TestStream stream = picker.stream().head(BodySendMode.STREAMED, null, "POST", CHAT, false);
    stream.destined();
    stream.body(BODY.substring(0, 5), false).body(BODY.substring(5), true);
    assertThat(stream.reply()).isEqualTo(Replies.REQUEST_BODY_AS_IT_IS);
    assertThat(stream.reply()).isEqualTo(Replies.REQUEST_BODY_AS_IT_IS);

    stream.responseHead(200, null, false, "content-type", "text/event-stream");
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    stream.responseBody("data: {\"id\":\"1\"}\n\n", false);
    assertThat(chunk(stream)).isEqualTo("data: {\"id\":\"1\"}\n\n");
    stream.responseBody("data: [DONE]\n\n", true);
    assertThat(chunk(stream)).isEqualTo("data: [DONE]\n\n");
  }

  @Test
  void headsAlone_areEnough() throws Exception {
    TestStream stream = picker.stream().head(BodySendMode.NONE, null, "POST", CHAT, false);
    stream.destined();
    stream.responseHead(200, null, false, "content-type", "application/json");

    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    stream.halfClose();
    assertThat(stream.end().isOk()).isTrue();
  }

  /** NGINX Gateway Fabric: no path, one message with all of the body, and no response. */
  @Test
  void proxyThatTellsNoPath_andShowsNoAnswer() throws Exception {
    double unseen = picker.metric("kvasir_picker_unseen_answers");
    var map = io.kvasir.picker.extproc.HeaderMap.newBuilder();
    map.addHeaders(
        io.kvasir.picker.extproc.HeaderValue.newBuilder().setKey("content-type").setValue("application/json"));
    TestStream stream = picker.stream();
    stream.send(
        ProcessingRequest.newBuilder()
            .setRequestHeaders(io.kvasir.picker.extproc.HttpHeaders.newBuilder().setHeaders(map))
            .build());
    stream.body(BODY, true).halfClose();

    CommonResponse head = stream.destined();
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.1:8000")
        .doesNotContainKey(":path");
    assertThat(stream.echo()).isEqualTo(BODY);
    assertThat(stream.end().isOk()).isTrue();
    // Nobody sees when the work ends, so its load is given back after a while, and says nothing.
    assertThat(cells.outcome()).isEqualTo(new Outcome.Cancelled());
    assertThat(picker.metric("kvasir_picker_unseen_answers")).isEqualTo(unseen + 1);
  }

  @Test
  void clientThatLeaves_beforeTheEndOfItsBody() {
    TestStream stream = picker.stream().head("POST", CHAT, false).body("{\"mod", false);
    Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") > 0);
    stream.cancel();

    Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") == 0);
  }

  @Test
  void clientThatLeaves_beforeTheResponse() throws Exception {
    sent(BODY).cancel();

    assertThat(cells.outcome()).isEqualTo(new Outcome.Cancelled());
  }

  @Test
  void clientThatLeaves_amidEvents() throws Exception {
    TestStream stream = sent(BODY.replace("{\"model", "{\"stream\":true,\"model"));
    stream.responseHead(200, null, false, "content-type", "text/event-stream").responseBody("data: {}\n\n", false);
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(piece(stream)).isEqualTo("data: {}\n\n");
    stream.cancel();

    assertThat(cells.outcome()).isEqualTo(new Outcome.Cancelled());
  }

  @Test
  void busyWorker_isPassedOn() throws Exception {
    TestStream stream = sent(BODY);
    stream.responseHead(429, null, false, "content-type", "application/json", "retry-after", "7");
    stream.responseBody("{\"error\":\"busy\"}", true);

    ProcessingResponse head = stream.reply();
    assertThat(head.hasResponseHeaders()).isTrue();
    assertThat(head.getResponseHeaders().getResponse().getHeaderMutation().getRemoveHeadersList())
        .doesNotContain("retry-after");
    assertThat(stream.responseEcho()).isEqualTo("{\"error\":\"busy\"}");
    assertThat(cells.outcome()).isEqualTo(new Outcome.Refused(429));
  }

  @Test
  void rewrite_inBothDirections_alsoOfNamesThatAreSplit() throws Exception {
    Pool pool = new Pool("default", "p", Map.of(), List.of(), Set.of(), Set.of(), 0);
    picker.pools.replace(
        LivePools.Source.KUBERNETES,
        new PoolSet(
            List.of(pool),
            List.of(
                new ModelRewrite(
                    "by-name",
                    pool.id(),
                    List.of(
                        new ModelRewrite.Rule(Set.of("gpt-4"), List.of(new ModelRewrite.Target("m", 1)))))),
            List.of()));
    String asked = "{\"stream\":true,\"model\":\"gpt-4\",\"messages\":[]}";
    TestStream stream = picker.stream().head("POST", CHAT, false, "accept-encoding", "gzip").body(asked, true);
    CommonResponse head = stream.destined();
    String got = asked.replace("gpt-4", "m");
    assertThat(TestStream.set(head.getHeaderMutation()))
        .containsEntry("content-length", Integer.toString(got.length()));
    assertThat(head.getHeaderMutation().getRemoveHeadersList()).contains("accept-encoding");
    assertThat(stream.echo()).isEqualTo(got);

    stream.responseHead(200, null, false, "content-type", "text/event-stream");
    String event = "data: {\"model\": \"m\",\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\":\\\"m\\\"\"}}]}\n\n";
    for (int i = 0; i < event.length(); i++) {
      stream.responseBody(event.substring(i, i + 1), false);
    }
    stream.responseBody("data: [DONE]\n\n", true);
    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(stream.responseEcho())
        .isEqualTo(event.replace("\"model\": \"m\"", "\"model\": \"gpt-4\"") + "data: [DONE]\n\n");
    assertThat(picker.metric("kvasir_picker_model_rewrites", "by-name", "gpt-4", "m")).isEqualTo(1);
  }

  /** What clients make up is no series of its own, and of a canary's two targets both are counted. */
  @Test
  void ruleForEveryName_isCountedWithoutTheName_andWithTheNameItself() throws Exception {
    Pool pool = new Pool("default", "p", Map.of(), List.of(), Set.of(), Set.of(), 0);
    picker.pools.replace(
        LivePools.Source.KUBERNETES,
        new PoolSet(
            List.of(pool),
            List.of(
                new ModelRewrite(
                    "any", pool.id(),
                    List.of(new ModelRewrite.Rule(Set.of(), List.of(new ModelRewrite.Target("m", 1)))))),
            List.of()));
    for (String model : List.of("made-up-1", "made-up-2", "m")) {
      TestStream stream = picker.stream().head("POST", CHAT, false);
      stream.body(BODY.replace("\"m\"", "\"" + model + "\""), true).destined();
      stream.cancel();
    }
    assertThat(picker.metric("kvasir_picker_model_rewrites", "any", "other", "m")).isEqualTo(3);
  }

  @Test
  void pools_byAuthority_andByModel() throws Exception {
    picker.pools.replace(
        LivePools.Source.KUBERNETES,
        new PoolSet(
            List.of(
                new Pool("x", "first", Map.of(), List.of(9), Set.of("first.x"), Set.of(), 0),
                new Pool("x", "second", Map.of(), List.of(8000), Set.of("second.x"), Set.of("n"), 0)),
            List.of(),
            List.of()));

    TestStream first = picker.stream("first.x.svc:9002").head("POST", CHAT, false).body(BODY, true);
    assertThat(first.immediate().getStatus().getCode()).isEqualTo(503);
    TestStream second = picker.stream("second.x.svc:9002").head("POST", CHAT, false).body(BODY, true);
    assertThat(second.destined().hasHeaderMutation()).isTrue();
    second.cancel();
    TestStream byModel = picker.stream().head("POST", CHAT, false).body(BODY.replace("\"m\"", "\"n\""), true);
    assertThat(TestStream.set(byModel.destined().getHeaderMutation()))
        .containsEntry("x-gateway-destination-endpoint", "10.0.0.2:8000");
    byModel.cancel();
  }

  /** A proxy that answers by itself before the picker has: its answer goes through. */
  @Test
  void answerOfTheProxysOwn_passes() throws Exception {
    TestStream stream = picker.stream().head("POST", CHAT, false).body("{\"mod", false);
    stream.responseHead(413, null, false, "content-type", "text/plain").responseBody("Payload Too Large", true);

    assertThat(stream.reply().hasResponseHeaders()).isTrue();
    assertThat(stream.responseEcho()).isEqualTo("Payload Too Large");
    stream.halfClose();
    assertThat(stream.end().isOk()).isTrue();
  }

  @Test
  void whoOnlyLooksOn_getsNoReply() throws Exception {
    TestStream stream = picker.stream();
    stream.send(ProcessingRequest.newBuilder().setObservabilityMode(true).build());
    stream.head("POST", CHAT, false).body(BODY, true).halfClose();

    assertThat(stream.end().isOk()).isTrue();
    assertThat(cells.requests).isEmpty();
  }

  @Test
  void streamWithoutAHead_doesNoHarm() throws Exception {
    TestStream stream = picker.stream().body(BODY, true).trailers().send(ProcessingRequest.getDefaultInstance());
    stream.halfClose();

    assertThat(stream.end().isOk()).isTrue();
  }

  private static String destination(Value subset) throws InterruptedException {
    TestStream stream =
        picker.stream().head(BodySendMode.FULL_DUPLEX_STREAMED, subset, "POST", CHAT, false).body(BODY, true);
    String destination =
        String.valueOf(TestStream.set(stream.destined().getHeaderMutation()).get("x-gateway-destination-endpoint"));
    stream.cancel();
    return destination;
  }

  /** A stream whose request is on its way to the first worker. */
  private static TestStream sent(String body) throws InterruptedException {
    TestStream stream = picker.stream().head("POST", CHAT, false).body(body, true);
    stream.destined();
    assertThat(stream.echo()).isEqualTo(body);
    return stream;
  }

  private static String piece(TestStream stream) throws InterruptedException {
    return stream.reply().getResponseBody().getResponse().getBodyMutation().getStreamedResponse().getBody()
        .toStringUtf8();
  }

  private static String chunk(TestStream stream) throws InterruptedException {
    return stream.reply().getResponseBody().getResponse().getBodyMutation().getBody().toStringUtf8();
  }
}
