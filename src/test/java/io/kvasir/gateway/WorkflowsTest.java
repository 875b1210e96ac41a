package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Plans of three steps, hedged requests, and retries that are kept within bounds. */
final class WorkflowsTest {
  private static final String BODY = "{\"model\":\"m\",\"prompt\":\"Once\",\"max_tokens\":9}";
  private static final String IMAGES =
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
          + "{\"url\":\"http://a/1\"}},{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://a/2\"}}]}]}";
  private static final String KEPT = "{\"kv_transfer_params\":{\"remote_engine_id\":\"e\"}}";

  private TestRouter router;

  private final List<ScriptedPod> pods = new ArrayList<>();

  @AfterEach
  void stop() {
    await("no reservation is left open", () -> router.cells.open.get() == 0);
    await("no workflow is left", () -> router.metric("kvasir_workflows") == 0);
    assertThat(router.cells.closedTwice).as("reservations closed twice").hasValue(0);
    router.close();
    pods.forEach(ScriptedPod::close);
  }

  // Three steps.

  /** Rewrites the prompt by asking a worker; all that a new kind of step takes on this side. */
  private static final class Rewrite implements PreprocessingStep {
    @Override
    public List<EngineRequest> requests(ClientRequest request, String id) {
      return List.of(new EngineRequest("/rewrite", request.members().bytes(), Map.of("X-Request-Id", id + ":rewrite")));
    }

    @Override
    public ClientRequest annotated(ClientRequest request) {
      return request;
    }

    @Override
    public ClientRequest apply(ClientRequest request, List<byte[]> answers) {
      return request.with(request.members().withCopy("prompt", JsonMembers.of(answers.getFirst()), "prompt"));
    }
  }

  /** Has a worker say many words, of which the prompt is made. */
  private record Words(int count) implements PreprocessingStep {
    @Override
    public List<EngineRequest> requests(ClientRequest request, String id) {
      return IntStream.range(0, count)
          .mapToObj(word -> new EngineRequest("/word", Integer.toString(word).getBytes(US_ASCII), Map.of()))
          .toList();
    }

    @Override
    public ClientRequest annotated(ClientRequest request) {
      return request;
    }

    @Override
    public ClientRequest apply(ClientRequest request, List<byte[]> answers) {
      String words = answers.stream().map(word -> new String(word, US_ASCII)).collect(Collectors.joining(" "));
      return request.with(request.members().withText("prompt", words));
    }
  }

  /** A step that ends in an Error at one of its places. */
  private record Broken(String place) implements PreprocessingStep {
    private void reach(String here) {
      if (here.equals(place)) {
        throw new StackOverflowError("at " + here);
      }
    }

    @Override
    public List<EngineRequest> requests(ClientRequest request, String id) {
      reach("requests");
      return List.of(new EngineRequest("/rewrite", request.members().bytes(), new AbstractMap<>() {
        @Override
        public Set<Entry<String, String>> entrySet() {
          reach("headers");
          return Set.of();
        }
      }));
    }

    @Override
    public ClientRequest annotated(ClientRequest request) {
      reach("annotated");
      return request;
    }

    @Override
    public ClientRequest apply(ClientRequest request, List<byte[]> answers) {
      reach("apply");
      return request;
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"requests", "headers", "annotated", "apply"})
  void errorWithinTheRouter_endsTheWorkflowAndGivesTheLoadBack(String place) throws Exception {
    router = new TestRouter(
        TestRouter.EXECUTION, GatewaySettings.defaults(), Map.of("rewrite", new Broken(place)));
    router.cells.preparation = "rewrite";
    router.cells.policies.put("rewrite", FailurePolicy.FAIL);
    ScriptedPod engine = pod((request, out) -> out.json(200, KEPT));
    router.cells.splitter("e", engine.url(), Role.ENCODE, Dialect.VLLM_NIXL, "m");
    router.cells.splitter("p", engine.url(), Role.PREFILL, Dialect.VLLM_NIXL, "m");
    router.cells.splitter("d", engine.url(), Role.DECODE, Dialect.VLLM_NIXL, "m");

    assertThat(router.post("/v1/completions", "{\"model\":\"m\",\"prompt\":\"x\"}").statusCode()).isIn(500, 502);

    await("the workflow to end", () -> router.metric("kvasir_workflows") == 0);
    assertThat(router.cells.open).hasValue(0);
    assertThat(router.metric("kvasir_attempts_in_flight")).isZero();
  }

  private ScriptedPod[] threeSteps(FailurePolicy onFailure) throws IOException {
    return threeSteps(onFailure, new Rewrite());
  }

  private ScriptedPod[] threeSteps(FailurePolicy onFailure, PreprocessingStep rewrite) throws IOException {
    router = new TestRouter(TestRouter.EXECUTION, GatewaySettings.defaults(), Map.of("rewrite", rewrite));
    router.cells.preparation = "rewrite";
    router.cells.policies.put("rewrite", onFailure);
    ScriptedPod rewriter = pod((request, out) -> out.json(200, "{\"prompt\":\"Twice\"}"));
    ScriptedPod prefill = pod((request, out) -> out.json(200, KEPT));
    ScriptedPod decode = pod((request, out) -> out.json(200, "{\"id\":\"x\"}"));
    router.cells.splitter("e", rewriter.url(), Role.ENCODE, Dialect.VLLM_NIXL, "m");
    router.cells.splitter("p", prefill.url(), Role.PREFILL, Dialect.VLLM_NIXL, "m");
    router.cells.splitter("d", decode.url(), Role.DECODE, Dialect.VLLM_NIXL, "m");
    return new ScriptedPod[] {rewriter, prefill, decode};
  }

  @Test
  void stepOfOnesOwn_isAPreparationAndNothingElse() throws Exception {
    ScriptedPod[] steps = threeSteps(FailurePolicy.FAIL);

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "r");

    assertThat(response.statusCode()).isEqualTo(200);
    ScriptedPod.ReceivedRequest asked = steps[0].next();
    assertThat(asked.target()).isEqualTo("/rewrite");
    assertThat(asked.headers().first("X-Request-Id")).isEqualTo("r:rewrite");
    assertThat(steps[1].next().text()).contains("\"prompt\":\"Twice\"", "\"do_remote_decode\":true");
    assertThat(steps[2].next().text()).isEqualTo(
        "{\"model\":\"m\",\"prompt\":\"Twice\",\"max_tokens\":9,"
            + "\"kv_transfer_params\":{\"remote_engine_id\":\"e\"}}");
  }

  @Test
  void stepOfOnesOwn_fails_policyDecides() throws Exception {
    ScriptedPod[] steps = threeSteps(FailurePolicy.WITHOUT);
    steps[0].script((request, out) -> out.reset());

    HttpResponse<String> response = router.post("/v1/completions", BODY);

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("X-Router-Reason").orElse("")).contains("without rewrite: reset");
    assertThat(steps[2].next().text()).contains("\"prompt\":\"Once\"");

    router.cells.policies.put("rewrite", FailurePolicy.FAIL);
    assertThat(router.post("/v1/completions", BODY).statusCode()).isEqualTo(502);
  }

  @Test
  void stepOfManyRequests_hasSixteenOfThemAtATime() throws Exception {
    int words = 200;
    ScriptedPod[] steps = threeSteps(FailurePolicy.FAIL, new Words(words));
    Semaphore answers = new Semaphore(0);
    steps[0].script((request, out) -> {
      answers.acquire();
      out.json(200, request.text());
    });
    CompletableFuture<HttpResponse<String>> response = posted();

    for (int answered = 0; answered < words; answered += 8) {
      int seen = Math.min(words, answered + 16);
      await("as many requests as there may be", () -> steps[0].seen.size() >= seen);
      assertThat(steps[0].seen).hasSize(seen);
      assertThat(router.metric("kvasir_attempts_in_flight")).isLessThanOrEqualTo(16);
      answers.release(8);
    }

    assertThat(response.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    assertThat(steps[1].next().text()).contains(
        IntStream.range(0, words).mapToObj(Integer::toString).collect(Collectors.joining(" ", "\"", "\"")));
  }

  @Test
  void stepOfManyRequests_clientLeaves_thoseThatWaitAreNotSent() throws Exception {
    ScriptedPod[] steps = threeSteps(FailurePolicy.FAIL, new Words(200));
    steps[0].script((request, out) -> out.awaitClosed());

    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire("/v1/completions", BODY));
      await("as many requests as there may be", () -> steps[0].seen.size() == 16);
    }

    await("no reservation is left open", () -> router.cells.open.get() == 0);
    await("no workflow is left", () -> router.metric("kvasir_workflows") == 0);
    assertThat(steps[0].seen).hasSize(16);
  }

  private CompletableFuture<HttpResponse<String>> posted() {
    return router.client().sendAsync(router.request("POST", "/v1/completions", BODY), BodyHandlers.ofString());
  }

  @Test
  void stepThatNobodyKnows_isTheRoutersFault() throws Exception {
    threeSteps(FailurePolicy.FAIL);
    router.cells.preparation = "unheard-of";

    assertThat(router.post("/v1/completions", BODY).statusCode()).isEqualTo(500);
  }

  @Test
  void planThatCannotBegin_endsItsWorkflowAtOnce() throws Exception {
    ExecutionSettings usual = TestRouter.EXECUTION;
    router = new TestRouter(
        new ExecutionSettings(
            usual.retries(), usual.firstByte(), usual.idle(), Duration.ofHours(1), usual.maxBufferedBytes(), null, 1),
        GatewaySettings.defaults());
    ScriptedPod engine = pod((request, out) -> out.json(200, KEPT));
    router.cells.workers.add(new Worker(
        "p", "p", engine.url(), 0, 1, 0, Role.PREFILL, Set.of("m"), Map.of(), 100, "e", null));
    router.cells.splitter("d", engine.url(), Role.DECODE, Dialect.VLLM_NIXL, "m");

    for (int i = 0; i < 3; i++) {
      HttpResponse<String> response = router.client().send(
          HttpRequest.newBuilder(router.url("/v1/completions"))
              .POST(BodyPublishers.ofByteArray(BODY.getBytes(StandardCharsets.UTF_16BE))).build(),
          BodyHandlers.ofString());

      assertThat(response.statusCode()).isEqualTo(500);
      await("the workflow to end", () -> router.metric("kvasir_workflows") == 0);
    }
    assertThat(router.cells.open).hasValue(0);
  }

  @Test
  void images_areEncodedBeforeThePromptIsRead() throws Exception {
    ScriptedPod[] steps = encoders();

    assertThat(router.post("/v1/chat/completions", IMAGES).statusCode()).isEqualTo(200);

    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      ids.add(String.valueOf(steps[0].next().headers().first("X-Request-Id")).replaceAll("^.*?:", ""));
    }
    assertThat(ids).anyMatch(id -> id.startsWith("0:")).anyMatch(id -> id.startsWith("1:"));
    String prefill = steps[1].next().text();
    String decode = steps[2].next().text();
    assertThat(prefill.replaceAll("(?s)\\],\"stream\".*", "")).contains("\"uuid\":\"");
    assertThat(uuids(prefill)).hasSize(2).isEqualTo(uuids(decode));
  }

  @Test
  void imagesOwnId_mayBeAnyText() throws Exception {
    ScriptedPod[] steps = encoders();
    String body = IMAGES.replaceFirst("\\{\"type\"", "{\"uuid\":\"a\\\\r\\\\nb: é\",\"type\"");

    HttpResponse<String> response = router.post("/v1/chat/completions", body, "X-Request-Id", "r");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("X-Router-Reason").orElse("")).doesNotContain("without encode");
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      ids.add(String.valueOf(steps[0].next().headers().first("X-Request-Id")));
    }
    assertThat(ids).contains("r:0:a__b:_");
    assertThat(uuids(steps[1].next().text())).contains("a\r\nb: é");
  }

  @Test
  void oneImageIsNotEncoded_allStopsOrGoesOnWithout() throws Exception {
    ScriptedPod[] steps = encoders();
    steps[0].script((request, out) -> {
      if (String.valueOf(request.headers().first("X-Request-Id")).contains(":0:")) {
        out.json(500, "{}");
      } else {
        out.awaitClosed();
      }
    });
    router.cells.policies.put(RoutingPlan.ENCODE, FailurePolicy.WITHOUT);

    assertThat(router.post("/v1/chat/completions", IMAGES).statusCode()).isEqualTo(200);

    router.cells.policies.put(RoutingPlan.ENCODE, FailurePolicy.FAIL);
    assertThat(router.post("/v1/chat/completions", IMAGES).statusCode()).isEqualTo(500);
  }

  @Test
  void requestWithoutImages_needsNoEncoder() throws Exception {
    ScriptedPod[] steps = encoders();

    assertThat(router.post("/v1/completions", BODY).statusCode()).isEqualTo(200);

    assertThat(steps[0].seen).isEmpty();
  }

  private ScriptedPod[] encoders() throws IOException {
    router = new TestRouter();
    ScriptedPod encoder = pod((request, out) -> out.json(200, "{\"ec_transfer_params\":{}}"));
    ScriptedPod prefill = pod((request, out) -> out.json(200, KEPT));
    ScriptedPod decode = pod((request, out) -> out.json(200, "{\"id\":\"x\"}"));
    router.cells.splitter("e", encoder.url(), Role.ENCODE, Dialect.VLLM_NIXL, "m");
    router.cells.splitter("p", prefill.url(), Role.PREFILL, Dialect.VLLM_NIXL, "m");
    router.cells.splitter("d", decode.url(), Role.DECODE, Dialect.VLLM_NIXL, "m");
    return new ScriptedPod[] {encoder, prefill, decode};
  }

  private static List<String> uuids(String body) {
    List<String> uuids = new ArrayList<>();
    JsonMembers.of(body.getBytes(StandardCharsets.UTF_8)).value("messages")
        .findValues("uuid").forEach(uuid -> uuids.add(uuid.asText()));
    return uuids;
  }

  // Hedging.

  private ScriptedPod[] hedged(Duration after) throws IOException {
    ExecutionSettings usual = TestRouter.EXECUTION;
    router = new TestRouter(
        new ExecutionSettings(
            usual.retries(), usual.firstByte(), usual.idle(), usual.total(), usual.maxBufferedBytes(), after, 100),
        GatewaySettings.defaults());
    ScriptedPod first = pod((request, out) -> out.json(200, "{\"id\":\"first\"}"));
    ScriptedPod second = pod((request, out) -> out.json(200, "{\"id\":\"second\"}"));
    router.cells.worker("a", first.url(), "m");
    router.cells.worker("b", second.url(), "m");
    return new ScriptedPod[] {first, second};
  }

  @Test
  void slowWorker_isHedged_andStopped() throws Exception {
    ScriptedPod[] workers = hedged(Duration.ofMillis(20));
    CountDownLatch gone = new CountDownLatch(1);
    workers[0].script((request, out) -> {
      out.awaitClosed();
      gone.countDown();
    });

    HttpResponse<String> response = router.post("/v1/completions", BODY, "X-Request-Id", "r");

    assertThat(response.body()).contains("second");
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("b");
    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(workers[0].next().headers().first("X-Request-Id")).isEqualTo("r");
    assertThat(workers[1].next().headers().first("X-Request-Id")).isEqualTo("r-2");
    assertThat(router.metric("kvasir_hedges", "true")).isEqualTo(1);
  }

  @Test
  void quickWorker_isNotHedged() throws Exception {
    ScriptedPod[] workers = hedged(Duration.ofSeconds(30));

    assertThat(router.post("/v1/completions", BODY).body()).contains("first");

    assertThat(workers[1].seen).isEmpty();
  }

  @Test
  void hedgeFails_firstStillAnswers() throws Exception {
    ScriptedPod[] workers = hedged(Duration.ofMillis(20));
    CountDownLatch failed = new CountDownLatch(1);
    workers[0].script((request, out) -> {
      failed.await();
      out.json(200, "{\"id\":\"first\"}");
    });
    workers[1].script((request, out) -> {
      failed.countDown();
      out.reset();
    });

    assertThat(router.post("/v1/completions", BODY).body()).contains("first");
  }

  // Retries within bounds.

  @Test
  void fleetThatFails_isNotAskedForEveryRetry() throws Exception {
    router = new TestRouter(
        settings(new ExecutionSettings.Retries(5, Duration.ofMillis(1), Duration.ofMillis(1), 1, 0.1, 1), 100),
        GatewaySettings.defaults());
    ScriptedPod bad = pod((request, out) -> out.json(500, "{}"));
    for (int i = 0; i < 5; i++) {
      router.cells.worker("bad-" + i, bad.url(), "m");
    }

    for (int i = 0; i < 50; i++) {
      assertThat(router.post("/v1/completions", BODY).statusCode()).isEqualTo(500);
    }

    // Ten to begin with, a tenth of fifty, and one for each second that the test takes.
    assertThat(router.metric("kvasir_retries")).isBetween(10.0, 60.0);
    assertThat(router.metric("kvasir_retries_refused", "budget")).isPositive();
  }

  @Test
  void tooManyWorkflows_firstFailureIsFinal() throws Exception {
    router = new TestRouter(settings(TestRouter.RETRIES, 1), GatewaySettings.defaults());
    CountDownLatch held = new CountDownLatch(1);
    ScriptedPod bad = pod((request, out) -> out.json(500, "{}"));
    ScriptedPod slow = pod((request, out) -> {
      held.await();
      out.json(200, "{}");
    });
    router.cells.worker("bad", bad.url(), "m");
    router.cells.worker("slow", slow.url(), "m");
    CompletableFuture<HttpResponse<String>> first = CompletableFuture.supplyAsync(() -> {
      try {
        return router.post("/v1/completions", BODY);
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
    slow.next();

    assertThat(router.post("/v1/completions", BODY).statusCode()).isEqualTo(500);

    held.countDown();
    assertThat(first.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
  }

  @Test
  void routerStops_workflowsEndWithIt() throws Exception {
    router = new TestRouter();
    ScriptedPod bad = pod((request, out) -> out.json(500, "{}"));
    CountDownLatch gone = new CountDownLatch(1);
    ScriptedPod slow = pod((request, out) -> {
      out.awaitClosed();
      gone.countDown();
    });
    router.cells.worker("bad", bad.url(), "m");
    router.cells.worker("slow", slow.url(), "m");
    CompletableFuture<Void> asked = CompletableFuture.runAsync(() -> {
      try {
        router.post("/v1/completions", BODY);
      } catch (IOException | InterruptedException e) {
        // The router is gone.
      }
    });
    slow.next();

    router.stopWorkflows();

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    asked.get(60, TimeUnit.SECONDS);
  }

  private static ExecutionSettings settings(ExecutionSettings.Retries retries, int workflows) {
    ExecutionSettings usual = TestRouter.EXECUTION;
    return new ExecutionSettings(
        retries, usual.firstByte(), usual.idle(), usual.total(), usual.maxBufferedBytes(), null, workflows);
  }

  private ScriptedPod pod(ScriptedPod.Script script) {
    ScriptedPod pod = new ScriptedPod(script);
    pods.add(pod);
    return pod;
  }
}
