package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.client.ScriptedPod;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Requests whose prompt one worker reads and another answers: every failure of either leg, under every policy. Two
 * prefill workers and two decode workers, the first of each to be chosen first.
 */
final class SplitFailureTest {
  private static final String BODY =
      "{\"model\":\"m\",\"prompt\":\"Once\",\"stream\":true,\"max_tokens\":9}";
  private static final String TOKEN = "data: {\"choices\":[{\"index\":0,\"text\":\"H\"}]}\n\n";
  private static final List<String> STREAM = List.of(TOKEN, "data: [DONE]\n\n");
  private static final String KEPT =
      "{\"id\":\"p\",\"choices\":[{\"text\":\"H\",\"finish_reason\":\"length\",\"disaggregated_params\":"
          + "{\"request_type\":\"context_only\"}}],\"prompt_token_ids\":[1],\"kv_transfer_params\":"
          + "{\"remote_engine_id\":\"e\"}}";

  /** How a worker fails. */
  enum Trouble {
    CUT("reset"),
    STATUS_500("error"),
    STATUS_503("busy"),
    STATUS_429("busy"),
    MODEL_UNKNOWN("unknown_model"),
    CUT_IN_THE_ANSWER("truncated"),
    HANGS("timeout");

    private final String why;

    Trouble(String why) {
      this.why = why;
    }

    ScriptedPod.Script script() {
      return (request, out) -> {
        switch (this) {
          case CUT -> out.reset();
          case STATUS_500 -> out.json(500, "{\"error\":{\"message\":\"broken\"}}");
          case STATUS_503 -> out.json(503, "{\"error\":{\"message\":\"loading\"}}");
          case STATUS_429 -> out.json(429, "{\"error\":{\"message\":\"full\"}}");
          case MODEL_UNKNOWN ->
              out.json(404, "{\"error\":{\"message\":\"The model `m` does not exist.\",\"code\":404}}");
          case CUT_IN_THE_ANSWER -> out
              .raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":")
              .reset();
          case HANGS -> out.awaitClosed();
        }
      };
    }
  }

  private TestRouter router;
  private final List<ScriptedPod> pods = new ArrayList<>();
  private ScriptedPod p1;
  private ScriptedPod p2;
  private ScriptedPod d1;
  private ScriptedPod d2;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter();
    p1 = pod(SplitFailureTest::prefills);
    p2 = pod(SplitFailureTest::prefills);
    d1 = pod((request, out) -> out.stream(STREAM));
    d2 = pod((request, out) -> out.stream(STREAM));
  }

  @AfterEach
  void stop() {
    router.close();
    pods.forEach(ScriptedPod::close);
    // The thread of an answer closes its reservation when the client has all of it.
    await("no reservation is left open", () -> router.cells.open.get() == 0);
    assertThat(router.cells.closedTwice).as("reservations closed twice").hasValue(0);
  }

  private void fleet(Dialect dialect, FailurePolicy onPrefillFailure) {
    router.cells.policies.put(RoutingPlan.PREFILL, onPrefillFailure);
    router.cells.splitter("p1", p1.url(), Role.PREFILL, dialect, "m");
    router.cells.splitter("p2", p2.url(), Role.PREFILL, dialect, "m");
    router.cells.splitter("d1", d1.url(), Role.DECODE, dialect, "m");
    router.cells.splitter("d2", d2.url(), Role.DECODE, dialect, "m");
  }

  // All is well.

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void bothLegsWork_decodeAnswers(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.FAIL);

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "r");

    assertThat(response.body()).isEqualTo(String.join("", STREAM));
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("d1");
    assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).hasValue("p1");
    String name = dialect.name().toLowerCase(Locale.ROOT).replace('_', '-');
    assertThat(response.headers().firstValue("X-Router-Reason").orElse("")).endsWith("; split=" + name);
    ScriptedPod.ReceivedRequest prefill = next(p1);
    ScriptedPod.ReceivedRequest decode = d1.next();
    assertThat(prefill.headers().first("X-Request-Id")).matches(engineId("r", dialect));
    assertThat(decode.headers().first("X-Request-Id")).isEqualTo(prefill.headers().first("X-Request-Id"));
    settled();
    assertThat(router.metric("kvasir_legs", name, "prefill", "answered")).isEqualTo(1);
    assertThat(router.metric("kvasir_legs", name, "decode", "answered")).isEqualTo(1);
  }

  @Test
  void storedResponse_isWhereItWasAnswered_alsoWherePrefillKnowsItByTheSameId() throws Exception {
    router.cells.splitter("p1", p1.url(), Role.PREFILL, Dialect.VLLM_PUSH, "m");
    router.cells.splitter("d1", d1.url(), Role.DECODE, Dialect.VLLM_PUSH, "m");
    CountDownLatch answered = new CountDownLatch(1);
    p1.script((request, out) -> {
      answered.await();
      out.json(200, "{\"id\":\"resp_r\",\"object\":\"response\"}");
    });
    d1.script((request, out) -> out.stream(List.of(
        "data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_r\"}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_r\"}}\n\n")));

    router.post("/v1/responses", "{\"model\":\"m\",\"input\":\"x\",\"stream\":true}", "X-Request-Id", "r");
    answered.countDown();
    await("prefill's answer", () -> router.metric("kvasir_legs", "vllm-push", "prefill", "answered") == 1);

    assertThat(next(p1).text()).contains("\"request_id\":\"resp_r-", "\"store\":false");
    assertThat(d1.next().text()).contains("\"request_id\":\"resp_r-").doesNotContain("store");
    settled();
    router.cells.workers.clear();
    router.cells.worker("p1", p1.url(), "m");
    router.cells.worker("d1", d1.url(), "m");
    assertThat(router.get("/v1/responses/resp_r").headers().firstValue("X-Router-Backend")).hasValue("d1");
  }

  // A prefill worker fails.

  static Stream<Arguments> prefillFailures() {
    List<Arguments> table = new ArrayList<>();
    for (Dialect dialect : Dialect.values()) {
      for (Trouble trouble : Trouble.values()) {
        for (FailurePolicy policy : FailurePolicy.values()) {
          table.add(Arguments.of(dialect, trouble, policy));
        }
      }
    }
    return table.stream();
  }

  @ParameterizedTest
  @MethodSource("prefillFailures")
  void prefillFails_policyDecides(Dialect dialect, Trouble trouble, FailurePolicy policy) throws Exception {
    fleet(dialect, policy);
    if (trouble == Trouble.HANGS) {
      router.cells.deadlines.put(RoutingPlan.PREFILL, Duration.ofMillis(150));
    }
    p1.script(bootstrapsOr(trouble.script()));
    if (dialect.concurrent()) {
      d1.script(waitsFor(p1));
    }

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "r");

    boolean decodesAlone = dialect != Dialect.SGLANG;
    switch (policy) {
      case NEXT_CANDIDATE, NEXT_CANDIDATE_THEN_WITHOUT -> {
        assertThat(response.body()).isEqualTo(String.join("", STREAM));
        assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).hasValue("p2");
        assertThat(router.metric("kvasir_retries", trouble.why)).isEqualTo(1);
      }
      case WITHOUT -> {
        assertThat(response.statusCode() == 200).isEqualTo(decodesAlone);
        assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).isEmpty();
        if (decodesAlone) {
          assertThat(response.headers().firstValue("X-Router-Reason").orElse(""))
              .contains("without prefill: " + trouble.why);
        }
        assertThat(p2.seen).isEmpty();
      }
      case FAIL -> {
        assertThat(response.statusCode()).isGreaterThanOrEqualTo(404);
        assertThat(p2.seen).isEmpty();
      }
    }
    settled();
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void everyPrefillWorkerFails_decodeReadsThePromptWhereItCan(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    p1.script(bootstrapsOr(Trouble.STATUS_500.script()));
    p2.script(bootstrapsOr(Trouble.CUT.script()));
    if (dialect.concurrent()) {
      d1.script(waitsFor(p1, p2));
    }

    HttpResponse<String> response = router.post("/v1/completions", BODY);

    if (dialect == Dialect.SGLANG) {
      assertThat(response.statusCode()).isEqualTo(500);
    } else {
      assertThat(response.body()).isEqualTo(String.join("", STREAM));
      assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).isEmpty();
      assertThat(router.cells.readPrompts).hasValue(1);
    }
    settled();
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void prefillFindsTheRequestWrong_clientHearsIt(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    p1.script(bootstrapsOr((request, out) -> out.json(400, "{\"error\":{\"message\":\"yours\"}}")));
    if (dialect.concurrent()) {
      d1.script((request, out) -> out.awaitClosed());
    }

    HttpResponse<String> response = router.post("/v1/completions", BODY);

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("yours");
    assertThat(p2.seen).isEmpty();
    settled();
  }

  /** What engines know a request by: those that find each other by it get one that nobody else has. */
  private static String engineId(String requestId, Dialect dialect) {
    return requestId + (dialect == Dialect.VLLM_PUSH ? "-[0-9a-f]{16}" : "");
  }

  // A decode worker fails.

  static Stream<Arguments> decodeFailures() {
    List<Arguments> table = new ArrayList<>();
    for (Dialect dialect : Dialect.values()) {
      for (Trouble trouble : Trouble.values()) {
        table.add(Arguments.of(dialect, trouble));
      }
    }
    return table.stream();
  }

  @ParameterizedTest
  @MethodSource("decodeFailures")
  void decodeFails_prefillIsDoneAgainForTheNext(Dialect dialect, Trouble trouble) throws Exception {
    fleet(dialect, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    if (trouble == Trouble.HANGS) {
      router.cells.deadlines.put(RoutingPlan.DECODE, Duration.ofMillis(150));
    }
    d1.script((request, out) -> {
      p1Asked();
      trouble.script().answer(request, out);
    });

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "r");

    assertThat(response.body()).isEqualTo(String.join("", STREAM));
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("d2");
    assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).hasValue("p1");
    assertThat(router.metric("kvasir_retries", trouble.why)).isEqualTo(1);
    settled();
    List<String> ids = new ArrayList<>();
    for (ScriptedPod.ReceivedRequest seen : p1.seen) {
      if (seen.method().equals("POST")) {
        ids.add(seen.headers().first("X-Request-Id"));
      }
    }
    assertThat(ids).hasSize(2);
    assertThat(ids.getFirst()).matches(engineId("r", dialect));
    assertThat(ids.getLast()).matches(engineId("r-2", dialect));
    assertThat(d2.next().headers().first("X-Request-Id")).isEqualTo(ids.getLast());
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void everyDecodeWorkerFailsAtTheBlocks_oneComputesThePromptWhereItCan(Dialect dialect) throws Exception {
    router.cells.splitter("p1", p1.url(), Role.PREFILL, dialect, "m");
    router.cells.splitter("d1", d1.url(), Role.DECODE, dialect, "m");
    d1.script(failsAtBlocks((request, out) -> out.json(500, "{\"error\":{\"message\":\"KV did not come\"}}")));

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "r");

    if (dialect == Dialect.SGLANG) {
      assertThat(response.statusCode()).isEqualTo(500);
      assertThat(response.body()).contains("KV did not come");
    } else {
      assertThat(response.body()).isEqualTo(String.join("", STREAM));
      assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("d1");
      assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).isEmpty();
      assertThat(response.headers().firstValue("X-Router-Reason").orElseThrow())
          .endsWith("; without prefill: its KV blocks were not received");
      assertThat(d1.seen).hasSize(2);
    }
    settled();
  }

  /** vLLM's engines wait eight minutes for blocks that are pushed. */
  @ParameterizedTest
  @EnumSource(value = Dialect.class, names = {"VLLM_NIXL", "VLLM_PUSH", "VLLM_MOONCAKE"})
  void prefillWorkerDiesInTheHandOver_decodeWaitsNoMore(Dialect dialect) throws Exception {
    router.cells.splitter("p1", p1.url(), Role.PREFILL, dialect, "m");
    router.cells.splitter("d1", d1.url(), Role.DECODE, dialect, "m");
    d1.script(failsAtBlocks((request, out) -> {
      router.cells.setIll("p1", true);
      out.awaitClosed();
    }));

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "r");

    assertThat(response.body()).isEqualTo(String.join("", STREAM));
    assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).isEmpty();
    assertThat(d1.seen).hasSize(2);
    settled();
  }

  /** A decode worker that fails as long as it is to take another's blocks, and else streams. */
  private ScriptedPod.Script failsAtBlocks(ScriptedPod.Script failure) {
    return (request, out) -> {
      if (request.text().contains("kv_transfer_params") || request.text().contains("disaggregated_params")
          || request.text().contains("bootstrap")) {
        p1Asked();
        failure.answer(request, out);
      } else {
        out.stream(STREAM);
      }
    };
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void cutInsideAStreamThatCannotBeContinued_nobodyIsAskedAgain(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    CountDownLatch read = new CountDownLatch(1);
    d1.script((request, out) -> {
      out.events().chunk(TOKEN);
      read.await();
      out.reset();
    });

    try (Socket socket = router.connect()) {
      String body = BODY.replaceFirst("\\{", "{\"seed\":7,");
      socket.getOutputStream().write(TestRouter.wire("/v1/completions", body));
      TestRouter.readTo(socket, TOKEN);
      read.countDown();
      String rest = TestRouter.rest(socket);

      assertThat(rest).doesNotContain("0\r\n\r\n");
    }
    assertThat(d2.seen).isEmpty();
    settled();
  }

  @Test
  void errorInsideTheStream_isPassedAndCountsAsAFailure() throws Exception {
    fleet(Dialect.VLLM_NIXL, FailurePolicy.FAIL);
    List<String> events = List.of("data: {\"error\":{\"message\":\"load\"}}\n\n", "data: [DONE]\n\n");
    d1.script((request, out) -> out.stream(events));

    assertThat(router.post("/v1/completions", BODY).body()).isEqualTo(String.join("", events));

    settled();
    assertThat(router.metric("kvasir_attempts", "failed")).isEqualTo(1);
  }

  // A leg fails while the other is under way.

  @ParameterizedTest
  @EnumSource(value = Dialect.class, names = {"VLLM_PUSH", "VLLM_MOONCAKE", "SGLANG"})
  void decodeFails_prefillBesideItIsStopped(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.FAIL);
    router.cells.policies.put(RoutingPlan.DECODE, FailurePolicy.FAIL);
    CountDownLatch gone = new CountDownLatch(1);
    p1.script(bootstrapsOr((request, out) -> {
      out.awaitClosed();
      gone.countDown();
    }));
    d1.script((request, out) -> {
      p1Asked();
      out.json(500, "{}");
    });

    assertThat(router.post("/v1/completions", BODY).statusCode()).isEqualTo(500);

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    settled();
  }

  @ParameterizedTest
  @EnumSource(value = Dialect.class, names = {"VLLM_PUSH", "VLLM_MOONCAKE", "SGLANG"})
  void prefillFails_decodeBesideItIsStopped(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.FAIL);
    CountDownLatch gone = new CountDownLatch(1);
    CountDownLatch there = new CountDownLatch(1);
    d1.script((request, out) -> {
      there.countDown();
      out.awaitClosed();
      gone.countDown();
    });
    p1.script(bootstrapsOr((request, out) -> {
      there.await();
      out.json(500, "{}");
    }));

    assertThat(router.post("/v1/completions", BODY).statusCode()).isEqualTo(500);

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    settled();
  }

  // The client leaves.

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void clientLeaves_whilePrefillWorks_everyLegIsStopped(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    CountDownLatch gone = new CountDownLatch(dialect.concurrent() ? 2 : 1);
    CountDownLatch there = new CountDownLatch(dialect.concurrent() ? 2 : 1);
    ScriptedPod.Script waits = (request, out) -> {
      there.countDown();
      out.awaitClosed();
      gone.countDown();
    };
    p1.script(bootstrapsOr(waits));
    d1.script(waits);

    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire("/v1/completions", BODY));
      assertThat(there.await(60, TimeUnit.SECONDS)).isTrue();
    }

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    settled();
    assertThat(p2.seen).isEmpty();
    assertThat(d2.seen).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void clientLeaves_whileDecodeStreams_itIsStopped(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    CountDownLatch gone = new CountDownLatch(1);
    d1.script((request, out) -> {
      out.events().chunk(TOKEN).awaitClosed();
      gone.countDown();
    });

    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire("/v1/completions", BODY));
      TestRouter.readTo(socket, TOKEN);
    }

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    settled();
  }

  // Requests that are not to be split.

  @ParameterizedTest
  @EnumSource(value = Dialect.class, names = {"VLLM_NIXL", "VLLM_PUSH", "VLLM_MOONCAKE", "TENSORRT_LLM"})
  void severalAnswers_areOneWorkersWork(Dialect dialect) throws Exception {
    fleet(dialect, FailurePolicy.FAIL);
    String body = "{\"model\":\"m\",\"prompt\":\"Once\",\"n\":2,\"logit_bias\":null}";

    HttpResponse<String> response = router.post("/v1/completions", body);

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("d1");
    assertThat(d1.next().text()).isEqualTo(body);
    assertThat(p1.seen).isEmpty();
    settled();
  }

  @Test
  void sglang_severalAnswers_needAWorkerThatServesAlone() throws Exception {
    fleet(Dialect.SGLANG, FailurePolicy.FAIL);
    String body = "{\"model\":\"m\",\"prompt\":\"Once\",\"n\":2}";

    HttpResponse<String> none = router.post("/v1/completions", body);

    assertThat(none.statusCode()).isEqualTo(503);

    ScriptedPod both = pod((request, out) -> out.json(200, "{\"id\":\"x\"}"));
    router.cells.worker("w", both.url(), "m");
    assertThat(router.post("/v1/completions", body).headers().firstValue("X-Router-Backend")).hasValue("w");
    assertThat(both.next().text()).isEqualTo(body);
    settled();
  }

  @Test
  void nixl_prefillThatKeptNothing_decodeReadsThePrompt() throws Exception {
    fleet(Dialect.VLLM_NIXL, FailurePolicy.FAIL);
    p1.script((request, out) -> out.json(200, "{\"kv_transfer_params\":null}"));

    HttpResponse<String> response = router.post("/v1/completions", BODY);

    assertThat(response.body()).isEqualTo(String.join("", STREAM));
    assertThat(d1.next().text()).isEqualTo(BODY);
    assertThat(router.cells.readPrompts).hasValue(1);
    assertThat(router.metric("kvasir_steps_skipped", "prefill")).isEqualTo(1);
    settled();
  }

  @Test
  void tensorRt_contextThatIsFinished_isTheAnswer() throws Exception {
    fleet(Dialect.TENSORRT_LLM, FailurePolicy.FAIL);
    p1.script((request, out) -> out.json(
        200, "{\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"text\":\"Hi\",\"finish_reason\":\"stop\"}]}"));

    HttpResponse<String> response = router.post("/v1/completions", BODY);

    assertThat(response.headers().firstValue("Content-Type").orElse("")).startsWith("text/event-stream");
    assertThat(response.body()).contains("\"text\":\"Hi\"").endsWith("data: [DONE]\n\n");
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("p1");
    assertThat(d1.seen).isEmpty();
    settled();
  }

  @Test
  void mooncake_bootstrapIsAskedOnce_andAgainAfterAFailure() throws Exception {
    fleet(Dialect.VLLM_MOONCAKE, FailurePolicy.NEXT_CANDIDATE);
    router.post("/v1/completions", BODY);
    router.post("/v1/completions", BODY);
    assertThat(p1.seen.stream().filter(seen -> seen.target().equals("/query"))).hasSize(1);

    d1.script(new ScriptedPod.Script() {
      private boolean failed;

      @Override
      public synchronized void answer(ScriptedPod.ReceivedRequest request, ScriptedPod.ScriptedResponse out)
          throws Exception {
        if (failed) {
          out.stream(STREAM);
        } else {
          failed = true;
          out.json(500, "{}");
        }
      }
    });
    router.post("/v1/completions", BODY);

    assertThat(p1.seen.stream().filter(seen -> seen.target().equals("/query"))).hasSize(2);
    settled();
  }

  @Test
  void sglang_messages_areServedByAChat() throws Exception {
    fleet(Dialect.SGLANG, FailurePolicy.FAIL);
    d1.script((request, out) -> out.stream(List.of(
        "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n",
        "data: {\"id\":\"c\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n",
        "data: [DONE]\n\n")));

    HttpResponse<String> response = router.post(
        "/v1/messages",
        "{\"model\":\"m\",\"max_tokens\":5,\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");

    assertThat(response.body())
        .contains("event: message_start", "\"text_delta\",\"text\":\"Hi\"", "\"stop_reason\":\"end_turn\"")
        .endsWith("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    assertThat(d1.next().target()).isEqualTo("/v1/chat/completions");
    settled();
    assertThat(router.metric("kvasir_attempts", "completed")).isEqualTo(2);
  }

  // Prefill workers that answer as each dialect has it; their bootstrap servers are theirs, too.

  private static void prefills(ScriptedPod.ReceivedRequest request, ScriptedPod.ScriptedResponse out) throws Exception {
    if (request.target().equals("/query")) {
      out.json(200, "{\"0\":{\"engine_id\":\"e\"}}");
    } else {
      out.json(200, KEPT);
    }
  }

  private static ScriptedPod.Script bootstrapsOr(ScriptedPod.Script script) {
    return (request, out) -> {
      if (request.target().equals("/query")) {
        prefills(request, out);
      } else {
        script.answer(request, out);
      }
    };
  }

  /** A decode worker that says nothing while it waits for one of these prefill workers. */
  private static ScriptedPod.Script waitsFor(ScriptedPod... prefill) {
    return (request, out) -> {
      for (ScriptedPod pod : prefill) {
        if (request.text().contains(":" + pod.url().getPort())) {
          out.awaitClosed();
          return;
        }
      }
      out.stream(STREAM);
    };
  }

  private void p1Asked() {
    await("p1 is asked", () -> p1.seen.stream().anyMatch(seen -> seen.method().equals("POST")));
  }

  private static ScriptedPod.ReceivedRequest next(ScriptedPod pod) throws InterruptedException {
    ScriptedPod.ReceivedRequest seen = pod.next();
    return seen.method().equals("POST") ? seen : pod.next();
  }

  private ScriptedPod pod(ScriptedPod.Script script) {
    ScriptedPod pod = new ScriptedPod(script);
    pods.add(pod);
    return pod;
  }

  /** Everything that was begun has ended. */
  private void settled() {
    await("no reservation is left open", () -> router.cells.open.get() == 0);
    await("no request is left at a worker", () -> router.metric("kvasir_attempts_in_flight") == 0);
    await("no workflow is left", () -> router.metric("kvasir_workflows") == 0);
  }
}
