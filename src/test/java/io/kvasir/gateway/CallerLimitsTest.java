package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.HttpResponseFor;
import com.openai.errors.RateLimitException;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import io.kvasir.access.Authentication;
import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import io.kvasir.answers.TestAnswers;
import io.kvasir.cell.Decision;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.limits.Dimension;
import io.kvasir.limits.LimitStatus.QuotaStatus;
import io.kvasir.limits.SimulatedNodes;
import io.kvasir.telemetry.AccessLog;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The limits of a caller as its clients see them, over real sockets, in time that the test moves. */
final class CallerLimitsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PATH = "/v1/chat/completions";
  private static final String CHAT =
      "{\"model\":\"m\",\"max_tokens\":10,\"temperature\":0,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";
  private static final String STREAMED = CHAT.replace("{\"model\"", "{\"stream\":true,\"model\"");
  private static final String ANSWER = """
      {"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":
       {"role":"assistant","content":"Hi","refusal":null},"logprobs":null,"finish_reason":"stop"}],
       "usage":{"prompt_tokens":40,"completion_tokens":2,"total_tokens":42,
                "prompt_tokens_details":{"cached_tokens":30}}}""";
  private static final String TOKEN =
      "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
  private static final String USAGE = "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[],"
      + "\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":2}}\n\n";

  /** 10 uncached, 30 cached at a tenth, 2 generated at three times. */
  private static final long COST = 19;

  private final SimulatedNodes nodes = new SimulatedNodes(1);
  private final AtomicInteger tries = new AtomicInteger();
  private Runnable onRequest = () -> { };
  private Caller caller = caller(Limits.NONE, Limits.NONE);
  private TestRouter router;
  private ScriptedPod pod;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter(
        new GatewayAccess(
            headers -> {
              tries.incrementAndGet();
              onRequest.run();
              return new Authentication.Accepted(caller);
            },
            null,
            nodes.limiter(0),
            AccessLog.off()),
        TestAnswers.memory());
    pod = new ScriptedPod((request, out) -> {
      if (request.text().contains("\"stream\":true")) {
        out.stream(List.of(TOKEN, TOKEN, USAGE, "data: [DONE]\n\n"));
      } else {
        out.json(200, ANSWER);
      }
    });
    router.cells.worker("w0", pod.url(), "m");
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  private static Caller caller(Limits limits, Limits tenantLimits) {
    return new Caller("key-1", "blue", Grants.ALL, limits, tenantLimits);
  }

  private void limit(long requests, long tokens, int concurrent, Limits.Budget... budgets) {
    caller = caller(new Limits(requests, tokens, concurrent, List.of(budgets)), Limits.NONE);
  }

  private long remaining(Dimension dimension) {
    QuotaStatus status = Objects.requireNonNull(nodes.limiter(0).status(caller, dimension));
    return status.remaining() - status.debt();
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("none");
  }

  private static JsonNode error(HttpResponse<String> answer) throws IOException {
    return JSON.readTree(answer.body()).path("error");
  }

  @Test
  void answers_sayWhatIsLeft() throws Exception {
    limit(60, 6000, 0);
    HttpResponse<String> first = router.post(PATH, CHAT, "Cache-Control", "no-cache");

    assertThat(header(first, "x-ratelimit-limit-requests")).isEqualTo("60");
    assertThat(header(first, "x-ratelimit-remaining-requests")).isEqualTo("59");
    assertThat(header(first, "x-ratelimit-reset-requests")).isEqualTo("1s");
    assertThat(header(first, "x-ratelimit-limit-tokens")).isEqualTo("6000");
    assertThat(header(first, "x-ratelimit-remaining-tokens")).isEqualTo(Long.toString(6000 - COST));
    assertThat(header(first, "x-ratelimit-reset-tokens")).isEqualTo("190ms");
    assertThat(first.headers().map()).doesNotContainKey("anthropic-ratelimit-requests-limit");

    HttpResponse<String> fromCache = router.post(PATH, CHAT);
    assertThat(header(fromCache, "X-Router-Cache")).isEqualTo("hit");
    assertThat(header(fromCache, "x-ratelimit-remaining-requests")).isEqualTo("58");
    assertThat(header(fromCache, "x-ratelimit-remaining-tokens")).isEqualTo(Long.toString(6000 - COST));

    HttpResponse<String> stream = router.post(PATH, STREAMED);
    assertThat(header(stream, "x-ratelimit-remaining-requests")).isEqualTo("57");

    assertThat(header(router.post(PATH, "{"), "x-ratelimit-remaining-requests")).isEqualTo("56");
  }

  @Test
  void answers_toAnthropicsClients_haveTheirHeaders() throws Exception {
    limit(60, 6000, 0);
    HttpResponse<String> answer = router.post("/v1/messages", CHAT);

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(header(answer, "anthropic-ratelimit-requests-limit")).isEqualTo("60");
    assertThat(header(answer, "anthropic-ratelimit-requests-remaining")).isEqualTo("59");
    assertThat(Instant.parse(header(answer, "anthropic-ratelimit-requests-reset"))).isNotNull();
    assertThat(header(answer, "anthropic-ratelimit-tokens-limit")).isEqualTo("6000");
    assertThat(answer.headers().map()).doesNotContainKey("x-ratelimit-limit-requests");
  }

  @Test
  void callerWithoutLimits_hasNoHeaders() throws Exception {
    assertThat(router.post(PATH, CHAT).headers().map().keySet())
        .noneMatch(name -> name.contains("ratelimit"));
  }

  @Test
  void requestBeyondTheRate_isRefusedWithTheTimeToComeBack() throws Exception {
    limit(2, 0, 0);
    router.post(PATH, CHAT);
    router.post(PATH, CHAT);
    HttpResponse<String> refused = router.post(PATH, CHAT);

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(error(refused).path("code").asText()).isEqualTo("rate_limit_exceeded");
    assertThat(error(refused).path("type").asText()).isEqualTo("requests");
    assertThat(error(refused).path("message").asText())
        .isEqualTo("The limit of key 'key-1' is 2 requests per minute, and 2 are used. It allows this again in 30s.");
    assertThat(header(refused, "Retry-After")).isEqualTo("30");
    assertThat(header(refused, "retry-after-ms")).isEqualTo("30000");
    assertThat(header(refused, "x-should-retry")).isEqualTo("true");
    assertThat(header(refused, "x-ratelimit-remaining-requests")).isEqualTo("0");
    assertThat(error(refused).path("refusal")).isEqualTo(
        JSON.readTree("""
            {"gate":"limits","knob":"limits.requests-per-minute","measured":3,"limit":2,"unit":"requests",
             "retryable":true}"""));
    assertThat(header(refused, "X-Router-Refusal")).isEqualTo(
        "gate=limits; knob=limits.requests-per-minute; measured=3; limit=2; unit=requests; retryable=true");
    assertThat(router.metric("kvasir_refusals", "limits", "limits.requests-per-minute")).isEqualTo(1);
    assertThat(router.cells.requests).hasSizeLessThan(3);
    nodes.advance(Duration.ofSeconds(30));
    assertThat(router.post(PATH, CHAT).statusCode()).isEqualTo(200);
  }

  @Test
  void workBeyondTheRate_isRefused_andCostsNoRequest() throws Exception {
    limit(60, 100, 0);
    router.post(PATH, CHAT.replace("Hi", "Hi ".repeat(120)), "Cache-Control", "no-cache");
    HttpResponse<String> refused = router.post(PATH, CHAT.replace("Hi", "Hi ".repeat(2000)));

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(error(refused).path("code").asText()).isEqualTo("rate_limit_exceeded");
    assertThat(error(refused).path("type").asText()).isEqualTo("tokens");
    assertThat(error(refused).path("message").asText()).startsWith(
        "The limit of key 'key-1' is 100 tokens of work per minute: 19 are used, and this request is expected to ");
    assertThat(remaining(Dimension.REQUESTS)).isEqualTo(59);
    assertThat(remaining(Dimension.TOKENS)).isEqualTo(100 - COST);
  }

  @ParameterizedTest
  @CsvSource({PATH + ", 429, insufficient_quota", "/v1/messages, 402, billing_error"})
  void budgetThatIsUsedUp_isNotToBeRetried(String path, int status, String type) throws Exception {
    limit(0, 0, 0, new Limits.Budget(60, Duration.ofDays(1)));
    router.post(PATH, CHAT, "Cache-Control", "no-cache");
    HttpResponse<String> refused = router.post(path, CHAT.replace("Hi", "Hi ".repeat(2000)));

    assertThat(refused.statusCode()).isEqualTo(status);
    assertThat(error(refused).path("type").asText()).isEqualTo(type);
    assertThat(error(refused).path("message").asText())
        .startsWith("The budget of key 'key-1' is 60 tokens of work per 24h0m0s: 19 are used");
    assertThat(error(refused).path("refusal").path("knob").asText()).isEqualTo("limits.budgets");
    assertThat(error(refused).path("refusal").path("retryable").asBoolean(true)).isFalse();
    assertThat(header(refused, "x-should-retry")).isEqualTo("false");
    assertThat(refused.headers().map()).doesNotContainKey("retry-after");
  }

  @Test
  void refusalOfATenant_namesTheTenant_inAnthropicsShape() throws Exception {
    caller = caller(Limits.NONE, new Limits(1, 0, 0, List.of()));
    router.post("/v1/messages", CHAT);
    HttpResponse<String> refused = router.post("/v1/messages", CHAT);

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(error(refused).path("type").asText()).isEqualTo("rate_limit_error");
    assertThat(error(refused).path("message").asText()).contains("tenant 'blue'");
    assertThat(header(refused, "anthropic-ratelimit-requests-remaining")).isEqualTo("0");
  }

  /** They tokenise prompts, which is the router's own work. */
  @Test
  void dryRuns_areRequests_withoutWork() throws Exception {
    limit(2, 6000, 1);
    router.post("/v1/route" + PATH, CHAT);
    HttpResponse<String> second = router.post("/v1/route" + PATH, CHAT);

    assertThat(header(second, "x-ratelimit-remaining-requests")).isEqualTo("0");
    assertThat(remaining(Dimension.TOKENS)).isEqualTo(6000);
    assertThat(remaining(Dimension.CONCURRENT)).isEqualTo(1);
    assertThat(router.post("/v1/route" + PATH, CHAT).statusCode()).isEqualTo(429);
  }

  @Test
  void stream_isChargedWhenItEnds() throws Exception {
    limit(0, 6000, 1);
    router.post(PATH, STREAMED);
    // 40 of the prompt, of which none were cached as far as anybody knows, and 2 generated.
    await(() -> remaining(Dimension.TOKENS) == 6000 - 46);
    assertThat(remaining(Dimension.CONCURRENT)).isEqualTo(1);
  }

  @Test
  void clientThatLeaves_paysForWhatWasMade() throws Exception {
    limit(0, 6000, 1);
    pod.script((request, out) -> out.events().chunk(TOKEN).chunk(TOKEN).chunk(TOKEN).awaitClosed());
    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire(PATH, STREAMED));
      String three = TestRouter.readTo(socket, TOKEN) + TestRouter.readTo(socket, TOKEN);
      assertThat(three + TestRouter.readTo(socket, TOKEN)).contains("200");
    }
    await(() -> remaining(Dimension.CONCURRENT) == 1);
    // Two of the prompt as the router counts them, and three events.
    assertThat(6000 - remaining(Dimension.TOKENS)).isEqualTo(2 + 3 * 3);
  }

  /** Whatever way requests end: the one slot is free again. */
  @Test
  void slot_comesBackFromEveryEnd() throws Exception {
    limit(0, 100_000, 1);
    router.post(PATH, CHAT, "Cache-Control", "no-cache");
    router.post(PATH, CHAT);
    router.post(PATH, STREAMED);
    await(() -> remaining(Dimension.CONCURRENT) == 1);
    router.post(PATH, "{");
    router.post(PATH, CHAT.replace("\"m\"", "\"unknown\""));
    pod.script((request, out) -> out.json(500, "{}"));
    router.post(PATH, CHAT.replace("Hi", "a"));
    pod.script((request, out) -> out.json(400, "{\"error\":{\"message\":\"no\"}}"));
    router.post(PATH, CHAT.replace("Hi", "b"));
    pod.script((request, out) -> out.reset());
    router.post(PATH, CHAT.replace("Hi", "c"));
    pod.script((request, out) -> out.stream(List.of(TOKEN)));
    router.post(PATH, STREAMED);
    router.cells.refuse = true;
    router.cells.otherwise = Decision.NoWorkerReason.NONE_HEALTHY;
    router.post(PATH, CHAT.replace("Hi", "d"));
    router.cells.otherwise = Decision.NoWorkerReason.ALL_FULL;
    router.post(PATH, CHAT.replace("Hi", "e"));
    await(() -> remaining(Dimension.CONCURRENT) == 1);
  }

  @Test
  void failuresOfWorkers_costNothing_andFaultsOfTheCallerTheRequest() throws Exception {
    limit(60, 6000, 0);
    pod.script((request, out) -> out.json(500, "{}"));
    assertThat(router.post(PATH, CHAT).statusCode()).isEqualTo(500);
    assertThat(remaining(Dimension.REQUESTS)).isEqualTo(60);
    assertThat(remaining(Dimension.TOKENS)).isEqualTo(6000);
    pod.script((request, out) -> out.json(400, "{\"error\":{\"message\":\"no\"}}"));
    assertThat(router.post(PATH, CHAT).statusCode()).isEqualTo(400);
    assertThat(remaining(Dimension.REQUESTS)).isEqualTo(59);
    assertThat(remaining(Dimension.TOKENS)).isEqualTo(6000);
  }

  @Test
  void openAisClient_readsTheHeaders_andRetriesAsToldByThem() {
    limit(6000, 0, 0);
    OpenAIClient client = client();
    try (HttpResponseFor<ChatCompletion> answer = client.chat().completions().withRawResponse().create(params())) {
      assertThat(answer.headers().values("x-ratelimit-remaining-requests")).containsExactly("5999");
    }
    exhaust(5999);
    tries.set(0);
    // The second try finds what has come in until then.
    onRequest = () -> {
      if (tries.get() == 2) {
        nodes.advance(Duration.ofMillis(10));
      }
    };
    assertThat(client.chat().completions().create(params()).choices()).hasSize(1);
    assertThat(tries).hasValue(2);
    client.close();
  }

  @Test
  void openAisClient_doesNotRetryWhenTheBudgetIsUsedUp() {
    limit(0, 0, 0, new Limits.Budget(1, Duration.ofDays(1)));
    OpenAIClient client = client();
    client.chat().completions().create(params());
    tries.set(0);
    assertThatThrownBy(() -> client.chat().completions().create(params("other")))
        .isInstanceOfSatisfying(RateLimitException.class, refused ->
            assertThat(refused.code()).hasValue("insufficient_quota"));
    assertThat(tries).hasValue(1);
    client.close();
  }

  private void exhaust(int requests) {
    try {
      for (int i = 0; i < requests; i++) {
        assertThat(nodes.limiter(0).admit(caller)).isNotNull();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private OpenAIClient client() {
    return OpenAIOkHttpClient.builder()
        .baseUrl(router.url("/v1").toString())
        .apiKey("key")
        .maxRetries(2)
        .build();
  }

  private static ChatCompletionCreateParams params() {
    return params("Hi");
  }

  private static ChatCompletionCreateParams params(String text) {
    return ChatCompletionCreateParams.builder().model("m").maxCompletionTokens(10).addUserMessage(text).build();
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0s", "120, 120ms", "1000, 1s", "1500, 1.5s", "1020, 1.02s", "360000, 6m0s", "61200, 1m1.2s",
    "86400000, 24h0m0s", "3601000, 1h0m1s"
  })
  void durations_areAsGoPrintsThem(long millis, String text) {
    assertThat(CallerLimits.goDuration(millis)).isEqualTo(text);
  }
}
