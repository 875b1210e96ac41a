package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.cell.Decision;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.cell.LearntEngines.LearntModel;
import io.kvasir.cell.Outcome;
import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.forwarding.ReservedFields;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.forwarding.TrustedProxies;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.telemetry.TestMetrics;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every API, streamed and not, over real sockets. */
final class GatewayTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHAT = """
      { "model" : "m",  "messages":[{"role":"user","content":"Grüße"}], "a_field_of_tomorrow":[1.50, null] }
      """;
  private static final String ANSWER = """
      {"id":"chatcmpl-1","choices":[{"index":0,"message":{"content":"Hi"}}],
       "usage":{"prompt_tokens":40,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":32}}}""";

  private TestRouter router;
  private ScriptedPod pod;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter();
    pod = new ScriptedPod((request, out) -> out.json(200, ANSWER));
    router.cells.worker("w0", pod.url(), "m");
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  @Test
  void chat_body_reachesTheWorkerByteForByte() throws Exception {
    router.post("/v1/chat/completions?trace=1", CHAT, "Content-Type", "application/json");

    ScriptedPod.ReceivedRequest seen = pod.next();
    assertThat(seen.method()).isEqualTo("POST");
    assertThat(seen.target()).isEqualTo("/v1/chat/completions?trace=1");
    assertThat(seen.text()).isEqualTo(CHAT);
  }

  @Test
  void chat_answer_isTheWorkersAndNamesIt() throws Exception {
    HttpResponse<String> response = router.post("/v1/chat/completions", CHAT);

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEqualTo(ANSWER);
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("w0");
    assertThat(response.headers().firstValue("X-Router-Reason")).hasValue("first in order");
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/json");
    assertThat(response.headers().firstValue("Content-Length")).hasValue("" + ANSWER.length());
  }

  @Test
  void chat_usage_reachesReservationAndMetrics() throws Exception {
    router.cells.predicted = 16;
    router.cells.best = 24;
    router.cells.ever = 39;
    router.post("/v1/chat/completions", CHAT);

    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Completed.class, completed -> {
      assertThat(completed.promptTokens()).isEqualTo(40);
      assertThat(completed.cachedTokens()).isEqualTo(32);
      assertThat(completed.outputTokens()).isEqualTo(2);
    });
    assertThat(router.cells.open).hasValue(0);
    assertThat(router.metric("kvasir_requests", "chat", "m", "2xx", "false")).isEqualTo(1);
    assertThat(router.metric("kvasir_cached_tokens", "actual", "m")).isEqualTo(32);
    assertThat(router.metric("kvasir_cached_tokens", "predicted", "m")).isEqualTo(16);
    assertThat(router.metric("kvasir_cached_tokens", "best", "m", "both", "1k")).isEqualTo(24);
    assertThat(router.metric("kvasir_cached_tokens", "ever", "m", "both", "1k")).isEqualTo(39);
    assertThat(router.metric("kvasir_regret_tokens", "m", "both", "1k")).isEqualTo(8);
    assertThat(router.metric("kvasir_usage_prompt_tokens", "m", "true", "both", "1k")).isEqualTo(40);
    assertThat(router.metric("kvasir_predictions", "m", "under")).isEqualTo(1);
    assertThat(router.metric("kvasir_requests_in_flight")).isZero();
  }

  @Test
  void chat_stream_comesEventByEvent() throws Exception {
    CountDownLatch read = new CountDownLatch(1);
    String first = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n";
    pod.script((request, out) -> {
      out.events().chunk(first);
      read.await();
      out.chunk("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":1}}\n\n");
      out.chunk("data: [DONE]\n\n").end();
    });

    HttpResponse<InputStream> response = router.client().send(
        router.request("POST", "/v1/chat/completions", CHAT.replace("\"m\"", "\"m\",\"stream\":true")),
        BodyHandlers.ofInputStream());
    BufferedReader lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
    assertThat(lines.readLine() + "\n\n").isEqualTo(first);
    await("the first token is counted", () -> router.cells.firstTokens.get() == 1);
    assertThat(router.cells.open).hasValue(1);
    read.countDown();

    assertThat(lines.lines().toList()).endsWith("data: [DONE]", "");
    assertThat(response.headers().firstValue("Content-Type")).hasValue("text/event-stream; charset=utf-8");
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("w0");
    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Completed.class, completed ->
        assertThat(completed.promptTokens()).isEqualTo(8));
    assertThat(router.metric("kvasir_ttft_seconds", "m")).isEqualTo(1);
    assertThat(router.metric("kvasir_request_body_bytes", "m")).isEqualTo(1);
    assertThat(router.metric("kvasir_request_output_token_seconds", "m")).isEqualTo(1);
    assertThat(router.metric("kvasir_request_decode_token_seconds", "m")).isZero();
  }

  @Test
  void paceOfAnAnswer_isCounted_whereThereIsOne() throws Exception {
    for (int tokens : new int[] {0, 1, 5}) {
      String usage =
          "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":" + tokens + "}}\n\n"
              + "data: [DONE]\n\n";
      pod.script((request, out) -> out.events()
          .chunk("data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n").chunk(usage).end());
      router.post("/v1/chat/completions", CHAT.replace("\"m\"", "\"m\",\"stream\":true"));
    }
    await("all have ended", () -> router.metric("kvasir_requests", "chat", "m", "2xx", "true") == 3);
    assertThat(router.metric("kvasir_request_output_token_seconds", "m")).isEqualTo(2);
    assertThat(router.metric("kvasir_request_decode_token_seconds", "m")).isEqualTo(1);
  }

  @Test
  void apis_eachPath_isForwarded() throws Exception {
    for (String path : List.of(
        "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens",
        "/tokenize", "/detokenize", "/v1/rerank", "/rerank", "/v1/score", "/generate", "/v1/images/generations")) {
      HttpResponse<String> response = router.post(path, "{\"model\":\"m\",\"input\":\"x\"}");

      assertThat(response.statusCode()).as(path).isEqualTo(200);
      assertThat(pod.next().target()).isEqualTo(path);
      assertThat(router.cells.requests.take().model()).isEqualTo("m");
    }
  }

  @Test
  void addedPath_anyMethodAndBody_isForwarded() throws Exception {
    router.close();
    router = new TestRouter(TestRouter.EXECUTION, GatewaySettings.defaults().with(new ForwardingSettings(
        new ServedPaths(List.of("/v1/files/*", "/v1/things")), ReservedFields.none(), TrustedProxies.NONE, true)));
    router.cells.worker("w0", pod.url(), "m");
    String form = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm2\r\n--b--\r\n";
    router.cells.worker("w1", pod.url(), "m2");

    router.send("POST", "/v1/audio/transcriptions", form, "Content-Type", "multipart/form-data; boundary=b");
    router.send("DELETE", "/v1/files/abc?force=1", "");
    router.send("PATCH", "/v1/things", "[1,2]");

    ScriptedPod.ReceivedRequest transcription = pod.next();
    assertThat(transcription.text()).isEqualTo(form);
    assertThat(transcription.headers().first("Content-Type")).isEqualTo("multipart/form-data; boundary=b");
    assertThat(router.cells.requests.take().model()).isEqualTo("m2");
    ScriptedPod.ReceivedRequest deletion = pod.next();
    assertThat(deletion.method() + " " + deletion.target()).isEqualTo("DELETE /v1/files/abc?force=1");
    assertThat(pod.next().text()).isEqualTo("[1,2]");
  }

  @Test
  void prompt_thatCannotBeRead_isForwarded() throws Exception {
    String body = "{\"model\":\"m\",\"messages\":\"not a list\"}";

    assertThat(router.post("/v1/chat/completions", body).statusCode()).isEqualTo(200);

    assertThat(pod.next().text()).isEqualTo(body);
  }

  @Test
  void prompt_knownText_asksWithItsChain() throws Exception {
    router.post("/v1/completions", "{\"model\":\"m\",\"prompt\":\"" + "x".repeat(320) + "\"}");

    assertThat(router.cells.requests.take().prompt().chain().length()).isEqualTo(10);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/v1/messages", "/v1/embeddings", "/v1/route/v1/chat/completions"})
  void validJson_beyondWhatIsRead_isToldWhatIsTooMuch(String path) throws Exception {
    Map<String, String> faults = Map.of(
        "[".repeat(1001) + "]".repeat(1001), "nesting depth (1001)",
        "1".repeat(1001), "Number value length (1001) exceeds the maximum allowed (1000)",
        "{\"" + "n".repeat(50_001) + "\":1}", "Name length (50001)");
    for (Map.Entry<String, String> fault : faults.entrySet()) {
      HttpResponse<String> answer = router.post(path, "{\"model\":\"m\",\"x\":" + fault.getKey() + "}");
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
      String message = JSON.readTree(answer.body()).at("/error/message").textValue();
      assertThat(message).contains(fault.getValue()).doesNotContain("StreamReadConstraints");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"{},", "[],", "[[]],", "{\"\":1},"})
  void json_whoseTreeNoMemoryCanHold_isTooLarge_andTakesNone(String element) throws Exception {
    String body = "{\"model\":\"m\",\"messages\":[" + element.repeat(900_000 / element.length()) + "{}]}";
    for (String path : List.of("/v1/chat/completions", "/v1/messages", "/v1/rerank", "/v1/route/v1/responses")) {
      HttpResponse<String> answer = router.post(path, body);
      assertThat(answer.statusCode()).as(path).isEqualTo(413);
      assertThat(JSON.readTree(answer.body()).at("/error/message").textValue()).contains("fewer objects and lists");
      await("memory to be given back", () -> TestMetrics.sum(router.registry, "kvasir_http_memory_used_bytes") == 0);
    }
    assertThat(TestMetrics.sum(router.registry, "kvasir_http_memory_peak_bytes")).isLessThan(TestRouter.MEMORY);
    assertThat(router.post("/v1/chat/completions", CHAT).statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({
    "GET %s HTTP/1.1|Host: x|X-Long: LONG||, 431, headers_too_large",
    "GET %s?LONG HTTP/1.1|Host: x||, 414, uri_too_long",
    "GET %s HTTP/1.1|Host : x||, 400, bad_request",
    "BREW %s HTTP/1.1|Host: x||, 501, bad_request",
    "POST %s HTTP/1.1|Host: x|Transfer-Encoding: gzip||, 501, bad_request",
    "POST %s HTTP/2.0|Host: x||, 505, bad_request",
    "POST %s HTTP/1.1|Host: x|Transfer-Encoding: chunked||x, 400, bad_request",
    "POST %s HTTP/1.1|Host: x|Content-Length: 99999999999||, 413, request_too_large",
    "POST %s HTTP/1.1|Host: x|Content-Encoding: br|Connection: close|Content-Length: 1||x, 415, unsupported_encoding",
  })
  void requestThatIsNotRead_isRefused_inTheApisOwnShape(String request, int status, String code) throws Exception {
    String text = request.replace("|", "\r\n").replace("LONG", "x".repeat(17_000));
    JsonNode openAi = refusal(text.formatted("/v1/chat/completions"), status);
    assertThat(openAi.at("/error/code").textValue()).isEqualTo(code);
    assertThat(openAi.at("/error/type").textValue()).isEqualTo("invalid_request_error");
    assertThat(openAi.at("/error/message").textValue()).isNotBlank();
    if (status != 414) {
      // Of a path that is too long nothing is known.
      assertThat(refusal(text.formatted("/v1/messages"), status).at("/type").textValue()).isEqualTo("error");
    }
  }

  private JsonNode refusal(String request, int status) throws IOException {
    try (Socket client = router.connect()) {
      client.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      String answer = TestRouter.rest(client);
      assertThat(answer).startsWith("HTTP/1.1 " + status + " ").contains("X-Request-Id: ");
      assertThat(answer).contains("Content-Type: application/json\r\n");
      return JSON.readTree(answer.substring(answer.indexOf("\r\n\r\n")));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/v1/messages"})
  void body_withoutMemory_isRefused_inTheApisOwnShape(String path) throws Exception {
    CountDownLatch mayAnswer = new CountDownLatch(1);
    try (ScriptedPod slow = new ScriptedPod((request, out) -> {
      mayAnswer.await();
      out.json(200, ANSWER);
    })) {
      router.cells.worker("w1", slow.url(), "slow");
      String large = "{\"model\":\"slow\",\"messages\":[],\"x\":\"" + "x".repeat(1 << 19) + "\"}";
      List<CompletableFuture<HttpResponse<String>>> held = new ArrayList<>();
      // Four bytes are booked for each of a body.
      for (int i = 0; i < TestRouter.MEMORY * 3 / 4 / (4L * large.length()); i++) {
        held.add(CompletableFuture.supplyAsync(() -> posted(path, large), Thread::startVirtualThread));
        slow.next();
      }
      HttpResponse<String> refused = router.post(path, large);
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.headers().firstValue("Retry-After")).hasValue("1");
      assertThat(JSON.readTree(refused.body()).at("/error/message").textValue()).contains("no memory left");
      assertThat(JSON.readTree(refused.body()).at("/error/type").textValue())
          .isEqualTo(path.equals("/v1/messages") ? "overloaded_error" : "server_error");
      assertThat(router.post("/v1/chat/completions", CHAT).statusCode()).as("a small one").isEqualTo(200);
      mayAnswer.countDown();
      for (CompletableFuture<HttpResponse<String>> admitted : held) {
        assertThat(admitted.join().statusCode()).isEqualTo(200);
      }
    }
  }

  private HttpResponse<String> posted(String path, String body) {
    try {
      return router.post(path, body);
    } catch (IOException | InterruptedException e) {
      throw new CompletionException(e);
    }
  }

  @Test
  void bodyBeyondALimitOfTheListener_isToldTheGateThatRefusedIt() throws Exception {
    HttpResponse<String> answer = router.post("/v1/chat/completions", "x".repeat((1 << 20) + 1));

    assertThat(answer.statusCode()).isEqualTo(413);
    assertThat(answer.headers().firstValue("X-Router-Refusal")).hasValue(
        "gate=body; knob=gateway.max-body; measured=1048577; limit=1048576; unit=bytes; retryable=false");
    assertThat(JSON.readTree(answer.body()).at("/error/refusal/knob").textValue()).isEqualTo("gateway.max-body");
    assertThat(router.metric("kvasir_refusals", "body", "gateway.max-body")).isEqualTo(1);
    assertThat(router.metric("kvasir_requests", "none", "4xx")).isEqualTo(1);
  }

  @Test
  void json_inTheArgumentsOfCalls_isCountedToo() throws Exception {
    String arguments = "[" + "[],".repeat(300_000) + "[]]";
    HttpResponse<String> answer = router.post("/v1/chat/completions", """
        {"model":"m","messages":[{"role":"assistant","tool_calls":[
         {"type":"function","function":{"name":"f","arguments":"%s"}}]}]}""".formatted(arguments));
    assertThat(answer.statusCode()).isEqualTo(413);
  }

  @Test
  void json_thatDoesNotFitNow_isAskedForAgain() throws Exception {
    CountDownLatch mayAnswer = new CountDownLatch(1);
    try (ScriptedPod slow = new ScriptedPod((request, out) -> {
      mayAnswer.await();
      out.json(200, ANSWER);
    })) {
      router.cells.worker("w1", slow.url(), "slow");
      String half = "{\"model\":\"slow\",\"messages\":[" + "{},".repeat(80_000) + "{}]}";
      CompletableFuture<HttpResponse<String>> first =
          CompletableFuture.supplyAsync(() -> posted("/v1/chat/completions", half), Thread::startVirtualThread);
      slow.next();
      HttpResponse<String> second = router.post("/v1/chat/completions", half);
      assertThat(second.statusCode()).isEqualTo(503);
      assertThat(second.headers().firstValue("Retry-After")).hasValue("1");
      assertThat(JSON.readTree(second.body()).at("/error/code").textValue()).isEqualTo("unavailable");
      assertThat(second.headers().firstValue("X-Router-Refusal"))
          .hasValueSatisfying(refusal -> assertThat(refusal).matches(
              "gate=memory; knob=gateway.memory-share; measured=[0-9]+; limit=50331648; unit=bytes; retryable=true"));
      assertThat(router.metric("kvasir_refusals", "memory", "gateway.memory-share")).isEqualTo(1);
      assertThat(router.post("/v1/chat/completions", CHAT).statusCode()).as("a small one").isEqualTo(200);
      mayAnswer.countDown();
      assertThat(first.join().statusCode()).isEqualTo(200);
    }
  }

  @Test
  void badBodies_areToldInTheApisOwnShape() throws Exception {
    Map<String, String> faults = Map.of(
        "{\"model\":", "not valid JSON",
        "", "empty",
        "[1]", "a JSON array",
        "{\"messages\":[]}", "Field 'model' is missing",
        "{\"model\":7}", "Field 'model' must be a string, not number",
        "{\"model\":\"  \"}", "Field 'model' is blank",
        "{\"model\":\"m\"} more", "not valid JSON",
        "{\"model\":\"m\",\"temperature\":NaN}", "Non-standard token 'NaN' at line 1",
        "{\"model\":\"m\"", "expected close marker for Object at line 1, column 13");
    for (Map.Entry<String, String> fault : faults.entrySet()) {
      HttpResponse<String> openai = router.post("/v1/chat/completions", fault.getKey());
      assertThat(openai.statusCode()).isEqualTo(400);
      JsonNode error = JSON.readTree(openai.body()).get("error");
      assertThat(error.get("message").textValue()).contains(fault.getValue());
      assertThat(error.get("type").textValue()).isEqualTo("invalid_request_error");
      assertThat(error.has("param")).isTrue();
      assertThat(error.has("code")).isTrue();

      HttpResponse<String> anthropic = router.post("/v1/messages", fault.getKey());
      assertThat(anthropic.statusCode()).isEqualTo(400);
      JsonNode body = JSON.readTree(anthropic.body());
      assertThat(body.get("type").textValue()).isEqualTo("error");
      assertThat(body.get("error").get("type").textValue()).isEqualTo("invalid_request_error");
      assertThat(body.get("error").get("message").textValue()).contains(fault.getValue());
    }
    assertThat(router.metric("kvasir_requests", "chat", "unknown", "4xx")).isEqualTo(faults.size());
    assertThat(router.metric("kvasir_requests_in_flight")).isZero();
    assertThat(pod.seen).isEmpty();
  }

  @Test
  void body_tooLong_isToldInTheApisOwnShape() throws Exception {
    HttpResponse<String> response = router.post("/v1/messages", "x".repeat(2 << 20));

    assertThat(response.statusCode()).isEqualTo(413);
    assertThat(JSON.readTree(response.body()).at("/error/type").textValue()).isEqualTo("request_too_large");
    assertThat(response.headers().firstValue("X-Request-Id")).isPresent();
  }

  @Test
  void model_unknown_is404AndMakesNoSeries() throws Exception {
    HttpResponse<String> response = router.post("/v1/chat/completions", "{\"model\":\"nobody's\"}");

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(JSON.readTree(response.body()).at("/error/code").textValue()).isEqualTo("model_not_found");
    assertThat(JSON.readTree(response.body()).at("/error/param").textValue()).isEqualTo("model");
    assertThat(router.metric("kvasir_requests", "unknown", "4xx")).isEqualTo(1);
    assertThat(router.metric("kvasir_requests", "nobody's")).isZero();
  }

  @Test
  void workers_allFullOrGone_saysWhenToComeBack() throws Exception {
    router.cells.refuse = true;
    for (Map.Entry<Decision.NoWorkerReason, Integer> want : Map.of(
        Decision.NoWorkerReason.ALL_FULL, 429, Decision.NoWorkerReason.NONE_HEALTHY, 503,
        Decision.NoWorkerReason.NO_HOME, 503, Decision.NoWorkerReason.CUT_OFF, 503,
        Decision.NoWorkerReason.STOPPING, 503).entrySet()) {
      router.cells.otherwise = want.getKey();

      HttpResponse<String> response = router.post("/v1/chat/completions", CHAT);

      assertThat(response.statusCode()).isEqualTo(want.getValue());
      assertThat(response.headers().firstValue("Retry-After")).isPresent();
      assertThat(JSON.readTree(response.body()).at("/error/message").textValue()).contains("nobody is left");
    }
    assertThat(router.metric("kvasir_requests_in_flight")).isZero();
  }

  @Test
  void path_unknown_is404() throws Exception {
    HttpResponse<String> response = router.post("/v2/chat", CHAT);

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(JSON.readTree(response.body()).at("/error/code").textValue()).isEqualTo("unknown_path");
    assertThat(response.headers().firstValue("X-Request-Id")).isPresent();
    assertThat(router.metric("kvasir_requests", "none", "4xx")).isEqualTo(1);
  }

  @Test
  void method_wrong_is405() throws Exception {
    HttpResponse<String> chat = router.get("/v1/chat/completions");
    HttpResponse<String> models = router.post("/v1/models", "{}");

    assertThat(chat.statusCode()).isEqualTo(405);
    assertThat(chat.headers().firstValue("Allow")).hasValue("POST");
    assertThat(models.statusCode()).isEqualTo(405);
    assertThat(models.headers().firstValue("Allow")).hasValue("GET, HEAD");
  }

  @Test
  void models_areTheFleetsUnion() throws Exception {
    router.cells.worker("w1", pod.url(), "org/other", "m");

    JsonNode list = JSON.readTree(router.get("/v1/models").body());
    assertThat(list.get("object").textValue()).isEqualTo("list");
    assertThat(list.get("data")).extracting(model -> model.get("id").textValue()).containsExactly("m", "org/other");
    for (String path : List.of("/v1/models/org/other", "/v1/models/org%2Fother")) {
      assertThat(JSON.readTree(router.get(path).body()).get("id").textValue()).isEqualTo("org/other");
    }
    assertThat(router.get("/v1/models/none").statusCode()).isEqualTo(404);
  }

  /** As vLLM's list has it: its benchmark takes the tokenizer from there, and agents how long a prompt may be. */
  @Test
  void models_haveWhatTheirEnginesTellOfThem() throws Exception {
    router.cells.worker("w1", pod.url(), "m", "adapter", "untold");
    router.cells.engines.put("w0", telling(Map.of("m", new LearntModel("org/m", null, 32_768))));
    router.cells.engines.put(
        "w1",
        telling(Map.of(
            "m", new LearntModel("org/m", null, 16_384),
            "adapter", new LearntModel("/adapters/a", "m", 16_384),
            "unlisted", new LearntModel("org/unlisted", null, 16_384))));

    JsonNode list = JSON.readTree(router.get("/v1/models").body()).get("data");

    assertThat(list).extracting(model -> model.get("id").textValue()).containsExactly("adapter", "m", "untold");
    assertThat(list).extracting(model -> model.get("root").textValue())
        .containsExactly("/adapters/a", "org/m", "untold");
    assertThat(list).extracting(model -> model.get("parent").textValue()).containsExactly("m", null, null);
    assertThat(list).extracting(model -> model.path("max_model_len").asInt())
        .as("what every engine takes").containsExactly(16_384, 16_384, 0);
    assertThat(list.get(2).has("max_model_len")).isFalse();
    assertThat(JSON.readTree(router.get("/v1/models/m").body())).isEqualTo(list.get(1));
    JsonNode anthropic = JSON.readTree(router.get("/v1/models/m", "anthropic-version", "2023-06-01").body());
    assertThat(anthropic.path("max_input_tokens").asInt()).isEqualTo(16_384);
  }

  @Test
  void models_whoseEnginesDoNotAgree_haveTheirNameForTheirOrigin() throws Exception {
    router.cells.worker("w1", pod.url(), "m");
    router.cells.worker("w2", pod.url(), "m");
    router.cells.engines.put("w0", telling(Map.of("m", new LearntModel("/models/a", null, 0))));
    router.cells.engines.put("w1", telling(Map.of("m", new LearntModel("/models/b", null, 8192))));
    router.cells.engines.put("w2", telling(Map.of("m", new LearntModel("/models/b", null, 0))));

    JsonNode model = JSON.readTree(router.get("/v1/models/m").body());

    assertThat(model.get("root").textValue()).isEqualTo("m");
    assertThat(model.get("max_model_len").asInt()).isEqualTo(8192);
  }

  private static LearntEngine telling(Map<String, LearntModel> models) {
    return new LearntEngine(null, false, false, false, 0, Set.of(), models);
  }

  @Test
  void health_countsWorkers() throws Exception {
    JsonNode health = JSON.readTree(router.get("/health").body());

    assertThat(health.get("status").textValue()).isEqualTo("ok");
    assertThat(health.get("healthy").intValue()).isEqualTo(1);
    assertThat(router.cells.fleet.described).as("answered without any cell's home").hasValue(0);
  }

  @Test
  void storedResponse_goesBackToWhoMadeIt() throws Exception {
    try (ScriptedPod other = new ScriptedPod((request, out) -> out.json(200, "{\"id\":\"resp_7\"}"))) {
      router.cells.workers.clear();
      router.cells.worker("w1", other.url(), "m");
      router.post("/v1/responses", "{\"model\":\"m\",\"input\":\"x\"}");
      router.cells.workers.clear();
      router.cells.worker("w0", pod.url(), "m");
      router.cells.worker("w1", other.url(), "m");

      assertThat(backend(router.get("/v1/responses/resp_7"))).isEqualTo("w1");
      assertThat(backend(router.send("POST", "/v1/responses/resp_7/cancel", ""))).isEqualTo("w1");
      assertThat(backend(router.post(
          "/v1/responses", "{\"model\":\"m\",\"input\":\"y\",\"previous_response_id\":\"resp_7\"}"))).isEqualTo("w1");
    assertThat(router.cells.fleet.described).as("without any cell's home").hasValue(0);
      assertThat(backend(router.get("/v1/responses/resp_unheard_of"))).isEqualTo("w0");
    }
  }

  @Test
  void usageInjection_on_asksTheEngineAndHidesTheEvent() throws Exception {
    String content = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n";
    String usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":1}}\n\n";
    String done = "data: [DONE]\n\n";
    pod.script((request, out) -> out.stream(List.of(content, usage, done)));
    try (TestRouter asking = new TestRouter(TestRouter.EXECUTION, new GatewaySettings("http", true, null))) {
      asking.cells.worker("w0", pod.url(), "m");

      HttpResponse<String> silent = asking.post("/v1/chat/completions", "{\"model\":\"m\",\"stream\":true}\n");
      assertThat(silent.body()).isEqualTo(content + done);
      assertThat(pod.next().text())
          .isEqualTo("{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
      assertThat(asking.cells.outcome()).isInstanceOfSatisfying(Outcome.Completed.class, completed ->
          assertThat(completed.promptTokens()).isEqualTo(8));

      String own = "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true}}";
      assertThat(asking.post("/v1/chat/completions", own).body()).isEqualTo(content + usage + done);
      assertThat(pod.next().text()).isEqualTo(own);
    }
  }

  private static String backend(HttpResponse<String> response) {
    return response.headers().firstValue("X-Router-Backend").orElse("none");
  }
}
