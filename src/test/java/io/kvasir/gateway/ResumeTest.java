package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.http.Cancellation;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.EngineTokenizer;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptRequest;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams whose worker dies, in a profile that has them continued: the client sees one answer, whole. */
final class ResumeTest {
  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final String PROFILE = "random { execute { resumes = 2 } }";
  private static final ProfileChoice CHOICE = ProfileChoice.always("random", false);
  private static final String MESSAGES = "/v1/messages";
  private static final String COMPLETIONS = "/v1/completions";
  private static final String RESPONSES = "/v1/responses";
  private static final String RESPONSE = "{\"model\":\"m\",\"stream\":true,\"store\":false,\"input\":\"Hi\"}";
  private static final String CHAT = "/v1/chat/completions";
  /** Usage in every event tells the router exactly how much has been generated. */
  private static final String REST =
      "\"stream\":true,\"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true},"
          + "\"max_tokens\":40,\"ignore_eos\":true,\"model\":\"m\"}";
  private static final String QUESTION = "Tell me of the king who counted every tree in his land. ".repeat(6).strip();
  private static final String HELLO =
      "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";
  private static final String MESSAGE = HELLO.replace("\"stream\"", "\"max_tokens\":50,\"stream\"");
  private static final String TEXT_BLOCK = "event: content_block_start\ndata: {\"type\":\"content_block_start\","
      + "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
  private static final String FIRST =
      "data: {\"id\":\"one\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";

  /** So slow that much is left to say when a fault comes after a few tokens. */
  private static final double SLOW = 0.25;

  private final List<SimEngine> engines = new ArrayList<>();
  private final List<ScriptedPod> pods = new ArrayList<>();
  private TestRouter router;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter(ResumeTest::prompts, TestRouter.EXECUTION, PROFILE, CHOICE);
  }

  @AfterEach
  void stop() {
    router.close();
    engines.forEach(SimEngine::close);
    pods.forEach(ScriptedPod::close);
    // The thread of an answer closes its reservation when the client has all of it.
    await("no reservation is left open", () -> router.cells.open.get() == 0);
    assertThat(router.cells.closedTwice).as("reservations closed twice").hasValue(0);
  }

  @ParameterizedTest
  @CsvSource({
      "/v1/completions, cut", "/v1/completions, no-end", "/v1/chat/completions, cut", "/v1/completions, stream-error",
      "/v1/chat/completions, stream-error"})
  void cutStream_saysWhatAnUnbrokenOneSays(String path, String fault) throws Exception {
    List<JsonNode> unbroken = events(engine(0).url(), path);
    worker("a", engine(SLOW, fault + "=1x"));
    worker("b", engine(0));

    List<JsonNode> told = events(router.url(""), path);

    assertThat(text(told)).isEqualTo(text(unbroken));
    assertThat(told.stream().map(event -> event.path("id").asText()).distinct()).hasSize(1);
    assertThat(told.stream().map(event -> event.path("created").asLong()).distinct()).hasSize(1);
    assertThat(told.stream().filter(event -> event.at("/choices/0/delta").has("role")))
        .hasSize(path.equals(CHAT) ? 1 : 0);
    for (String count : List.of("prompt_tokens", "completion_tokens", "total_tokens")) {
      assertThat(told.getLast().path("usage").path(count)).as(count)
          .isEqualTo(unbroken.getLast().path("usage").path(count));
    }
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Failed.class);
    assertThat(router.metric("kvasir_resumes", fault.equals("no-end") ? "finished" : "resumed")).isEqualTo(1);
  }

  @Test
  void twoWorkersCut_theThirdEndsIt() throws Exception {
    allowDisconnects(3);
    String unbroken = text(events(engine(0).url(), CHAT));
    worker("a", engine(SLOW, "cut=1x"));
    worker("b", engine(SLOW, "cut=1x"));
    worker("c", engine(0));

    assertThat(text(events(router.url(""), CHAT))).isEqualTo(unbroken);

    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(2);
    assertThat(Stream.of(router.cells.outcome(), router.cells.outcome()))
        .allMatch(outcome -> outcome instanceof Outcome.Failed);
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
  }

  @Test
  void threeWorkersCut_isOneTooMany() throws Exception {
    allowDisconnects(4);
    for (String id : List.of("a", "b", "c", "d")) {
      worker(id, engine(SLOW, "cut=1x"));
    }

    assertThatThrownBy(() -> events(router.url(""), CHAT)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(2);
    assertThat(router.metric("kvasir_resumes_refused", "most")).isEqualTo(1);
  }

  /** Clients' libraries raise their own error for that, where a broken connection alone is one of their transport's. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      CHAT + "|data: {\"error\":{\"message\":\"%s\",\"type\":\"server_error\",\"param\":null,\"code\":502}}",
      "/v1/completions|data: {\"error\":{\"message\":\"%s\",\"type\":\"server_error\",\"param\":null,\"code\":502}}",
      MESSAGES + "|event: error,data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"%s\"}}",
      RESPONSES + "|event: error,data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"%s\",\"param\":null,"
          + "\"sequence_number\":1,"
          + "\"error\":{\"message\":\"%s\",\"type\":\"server_error\",\"param\":null,\"code\":502}}"})
  void cutStream_thatNobodyContinues_endsCutBehindAnError(String path, String error) throws Exception {
    String begun = "data: {\"type\":\"begun\",\"choices\":[]}\n\n";
    pods.add(new ScriptedPod((request, out) -> out.events().chunk(begun + "data: {\"type\":\"hal").reset()));
    router.cells.worker("a", pods.getLast().url(), "m");
    String request = path.equals(MESSAGES) ? MESSAGE : path.equals(RESPONSES) ? RESPONSE : body(path);

    String answer;
    // Java's client may lose what came just before the end.
    try (Socket socket = new Socket(router.url("").getHost(), router.url("").getPort())) {
      String head = "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
          + request.length() + "\r\n\r\n";
      socket.getOutputStream().write((head + request).getBytes(StandardCharsets.UTF_8));
      answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    String why = "the engine has cut its stream, and no other one continues it: the answer is not whole";
    assertThat(answer).contains("Transfer-Encoding: chunked", begun).doesNotContain("hal")
        .endsWith(error.replace("%s", why).replace("error,data", "error\ndata") + "\n\n\r\n");
  }

  @Test
  void twoWorkersCut_requestGoesToNoThird() throws Exception {
    for (String id : List.of("a", "b", "c")) {
      worker(id, engine(SLOW, "cut=1x"));
    }

    assertThatThrownBy(() -> events(router.url(""), CHAT)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
    assertThat(router.metric("kvasir_resumes_refused", "disconnects")).isEqualTo(1);
    assertThat(router.client().send(request(router.url(CHAT), CHAT), BodyHandlers.ofString()).statusCode())
        .as("in quarantine").isEqualTo(502);
    assertThat(router.metric("kvasir_attempts", "failed")).isEqualTo(2);
  }

  @Test
  void workerCrashes_inTheMiddle_theOtherGoesOn() throws Exception {
    String unbroken = text(events(engine(0).url(), CHAT));
    SimEngine dying = engine(SLOW);
    worker("a", dying);
    worker("b", engine(0));
    List<String> lines = new ArrayList<>();

    try (Stream<String> stream = router.client().send(request(router.url(CHAT), CHAT), BodyHandlers.ofLines()).body()) {
      for (Iterator<String> all = stream.iterator(); all.hasNext(); ) {
        lines.add(all.next());
        if (lines.size() == 5) {
          dying.crash();
        }
      }
    }

    assertThat(text(events(lines))).isEqualTo(unbroken);
    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
  }

  private void allowDisconnects(int most) throws IOException {
    router.close();
    ExecutionSettings usual = TestRouter.EXECUTION;
    router = new TestRouter(
        ResumeTest::prompts, new ExecutionSettings(
            usual.retries(), usual.firstByte(), usual.idle(), null, usual.total(), usual.maxBufferedBytes(), null,
            usual.workflows(), new ExecutionSettings.Disconnects(most, null), usual.webSocketIdle()),
        PROFILE, CHOICE);
  }

  @Test
  void silentWorker_isGivenUpAndTheOtherGoesOn() throws Exception {
    router.close();
    router = new TestRouter(
        ResumeTest::prompts, new ExecutionSettings(
            TestRouter.RETRIES, Duration.ofSeconds(30), Duration.ofSeconds(2), Duration.ofSeconds(60), 1 << 20, null,
            10),
        PROFILE, CHOICE);
    String unbroken = text(events(engine(0).url(), COMPLETIONS));
    worker("a", engine(SLOW, "hang-midway=1x"));
    worker("b", engine(0));

    assertThat(text(events(router.url(""), COMPLETIONS))).isEqualTo(unbroken);
  }

  @Test
  void workerHangs_outOfService_theOtherGoesOn() throws Exception {
    router.close();
    router = new TestRouter(
        ResumeTest::prompts, TestRouter.EXECUTION.withStranded(Duration.ofMillis(500)), PROFILE, CHOICE);
    String unbroken = text(events(engine(0).url(), COMPLETIONS));
    worker("a", engine(SLOW, "hang-midway=1x"));
    worker("b", engine(0));
    router.cells.setIll("a", true);

    assertThat(text(events(router.url(""), COMPLETIONS))).isEqualTo(unbroken);

    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
  }

  /** Whatever stands still may move again, and nobody else could go on. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "\"content\":\"Hel\" | \"seed\":7,",
      "\"content\":\"Hel\" | \"response_format\":{\"type\":\"json\"},",
      "\"reasoning_content\":\"Hel\" | ''"})
  void workerOutOfService_keepsTheStreamThatNobodyElseCouldGoOnWith(String said, String asked) throws Exception {
    router.close();
    router = new TestRouter(
        ResumeTest::prompts, TestRouter.EXECUTION.withStranded(Duration.ofMillis(100)), PROFILE, CHOICE);
    String begin = FIRST + said("one", "").replace("\"content\":\"\"", said);
    String rest = said("one", "lo") + "data: [DONE]\n\n";
    pod("a", (request, out) -> {
      ScriptedPod.ScriptedResponse stream = out.events().chunk(begin);
      int before = router.cells.looks();
      await("it was looked for twice whether the request leaves", () -> router.cells.looks() >= before + 2);
      stream.chunk(rest).end();
    });
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));
    router.cells.setIll("a", true);

    assertThat(router.post(CHAT, HELLO.replace("\"stream\"", asked + "\"stream\"")).body()).isEqualTo(begin + rest);

    assertThat(second.seen).isEmpty();
  }

  @Test
  void decodeWorkerCuts_isContinuedByAWholeNewPlan() throws Exception {
    String unbroken = text(events(engine(0).url(), CHAT));
    splitter("p", Role.PREFILL);
    splitter("d1", Role.DECODE, "cut=1x");
    splitter("d2", Role.DECODE);

    assertThat(text(events(router.url(""), CHAT))).isEqualTo(unbroken);
    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
  }

  @Test
  void onlyDecodeWorkerCutsWithoutItsBlocks_computesThePromptItself() throws Exception {
    ScriptedPod prefill = new ScriptedPod((request, out) -> out.json(200,
        "{\"id\":\"p\",\"choices\":[{\"index\":0,\"message\":{\"content\":\"H\"},\"finish_reason\":\"length\"}],"
            + "\"kv_transfer_params\":{\"remote_engine_id\":\"e\"}}"));
    List<String> whole = List.of(FIRST, said("one", "Hello"), "data: [DONE]\n\n");
    ScriptedPod decode = new ScriptedPod((request, out) -> out.stream(
        request.text().contains("kv_transfer_params")
            ? List.of(FIRST, "data: {\"error\":{\"message\":\"KV did not come\",\"code\":500}}\n\n", "data: [DONE]\n\n")
            : whole));
    pods.addAll(List.of(prefill, decode));
    router.cells.splitter("p", prefill.url(), Role.PREFILL, KvTransfer.Dialect.VLLM_NIXL, "m");
    router.cells.splitter("d", decode.url(), Role.DECODE, KvTransfer.Dialect.VLLM_NIXL, "m");

    assertThat(router.post(CHAT, HELLO).body()).isEqualTo(String.join("", whole));

    assertThat(decode.seen).hasSize(2);
    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
  }

  @Test
  void firstToken_isThatOfWhoeverHadOne() throws Exception {
    pod("a", (request, out) -> out.events().chunk("data: {\"id\":\"on").reset());
    pod("b", (request, out) -> out.stream(List.of(FIRST, said("one", "lo"), "data: [DONE]\n\n")));

    assertThat(router.post(CHAT, HELLO).body()).isEqualTo(FIRST + said("one", "lo") + "data: [DONE]\n\n");

    assertThat(router.metric("kvasir_ttft_seconds", "m")).isEqualTo(1);
  }

  @Test
  void answerOfPrefillAlone_continues() throws Exception {
    Runnable joins = finishedPrefill();
    pod("a", (request, out) -> {
      joins.run();
      out.events().chunk(FIRST + said("one", "Hel")).reset();
    });

    String told = router.post(CHAT, HELLO).body();

    assertThat(told).startsWith(FIRST + said("one", "Hel")).contains("\"lo\"", "[DONE]");
  }

  @Test
  void halfAnEvent_doesNotReachTheClient() throws Exception {
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Hel")).chunk("data: {\"id\":\"on").reset());
    ScriptedPod second = pod("b", (request, out) -> out.stream(
        List.of(FIRST.replace("one", "two"), goesOn(HELLO, "Hel", "lo"), "data: [DONE]\n\n")));

    String told = router.post(CHAT, HELLO, "X-Request-Id", "r").body();

    assertThat(told).isEqualTo(FIRST + said("one", "Hel") + said("one", "lo") + "data: [DONE]\n\n");
    ScriptedPod.ReceivedRequest asked = second.next();
    assertThat(asked.headers().first("X-Request-Id")).isEqualTo("r-2");
    assertThat(asked.text()).startsWith(
        "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},"
            + "{\"role\":\"assistant\",\"content\":\"Hel\"}]");
    assertThat(router.cells.requests.poll().constraints().excluded()).isEmpty();
    assertThat(router.cells.requests.poll().constraints().excluded()).containsExactly("a");
  }

  /** As busy engines do: an event is no token, and nobody has told how many there are. */
  @Test
  void severalTokensInOneEvent_areCountedByTheTokenizer() throws Exception {
    String body = HELLO.replace("\"stream\":true", "\"max_tokens\":5,\"stream\":true");
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "The time") + said("one", " was")).reset());
    ScriptedPod second = pod("b", (request, out) -> out.stream(
        List.of(FIRST.replace("one", "two"), goesOn(body, "The time was", " good"), "data: [DONE]\n\n")));

    assertThat(router.post(CHAT, body).body()).isEqualTo(
        FIRST + said("one", "The time") + said("one", " was") + said("one", " good") + "data: [DONE]\n\n");

    assertThat(second.next().text()).contains("\"max_tokens\":2,");
  }

  /** The tokenizer has " was" as one token; in two events it has been two. */
  @Test
  void textOfOtherTokensThanTheTokenizerMakes_isNotContinued() throws Exception {
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "The time w") + said("one", "as")).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThatThrownBy(() -> router.post(CHAT, HELLO)).isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused", "tokens")).isEqualTo(1);
  }

  /** The tokenizer has as many tokens for the prompt with the text as for both, but others. */
  @Test
  void promptWhoseLastWordGoesOnInOtherTokens_isNotContinued() throws Exception {
    pod("a", (request, out) -> out.events()
        .chunk("data: {\"id\":\"one\",\"choices\":[{\"index\":0,\"text\":\"le\"}]}\n\n").reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));
    String prompt = "The q a";

    assertThat(tokens(prompt + "le")).hasSize(tokens(prompt).length + tokens("le").length);
    assertThatThrownBy(() -> router.post(
        COMPLETIONS, "{\"model\":\"m\",\"stream\":true,\"prompt\":\"" + prompt + "\"}"))
        .isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused", "tokens")).isEqualTo(1);
  }

  private int[] tokens(String text) throws Exception {
    try (Permit permit = router.prompts.limiter().acquire(text.length(), Cancellation.NONE)) {
      return Objects.requireNonNull(router.prompts.textTokens("m", text, permit));
    }
  }

  @Test
  void engineThatBeginsAnAnswerOfItsOwn_isNotBelieved() throws Exception {
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Hel")).reset());
    pod("b", (request, out) -> out.stream(
        List.of(FIRST.replace("one", "two"), goesOn(HELLO, "Hel and more", "Hello"), "data: [DONE]\n\n")));

    assertThatThrownBy(() -> router.post(CHAT, HELLO)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes_refused", "diverged")).isEqualTo(1);
  }

  /** What the first worker had to say of its failure is all that the client can be told. */
  @Test
  void errorInTheStream_thatAnotherAnswersOtherwise_reachesTheClient() throws Exception {
    String error = "data: {\"error\":{\"message\":\"no\",\"code\":500}}\n\ndata: [DONE]\n\n";
    pod("a", (request, out) -> out.stream(List.of(FIRST, said("one", "Hel"), error)));
    pod("b", (request, out) -> out.stream(
        List.of(FIRST.replace("one", "two"), goesOn(HELLO, "Hel and more", "Hello"), "data: [DONE]\n\n")));

    assertThat(router.post(CHAT, HELLO).body()).isEqualTo(FIRST + said("one", "Hel") + error);

    assertThat(router.metric("kvasir_resumes_refused", "diverged")).isEqualTo(1);
  }

  /** The router has the second worker report its usage; the client has not requested it. */
  @ParameterizedTest
  @ValueSource(strings = {"\"stream\":true", "\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true}"})
  void usageThatOnlyTheRouterRequested_doesNotReachTheClient(String streaming) throws Exception {
    String body = HELLO.replace("\"stream\":true", streaming);
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Hel")).reset());
    pod("b", (request, out) -> out.stream(List.of(
        FIRST.replace("one", "two"),
        goesOn(HELLO, "Hel", "lo"),
        "data: {\"id\":\"two\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n",
        "data: [DONE]\n\n")));

    assertThat(router.post(CHAT, body).body())
        .isEqualTo(FIRST + said("one", "Hel") + said("one", "lo") + "data: [DONE]\n\n");
  }

  @Test
  void modelWithoutATokenizer_isContinuedOnlyWhereNothingCounts() throws Exception {
    String asked = "{\"model\":\"other\",\"stream\":true,\"prompt\":\"Once\",\"max_tokens\":%d}";
    String text = "data: {\"id\":\"one\",\"choices\":[{\"index\":0,\"text\":\"%s\"}]}\n\n";
    AtomicInteger cuts = new AtomicInteger();
    for (String id : List.of("a", "b")) {
      ScriptedPod pod = new ScriptedPod((request, out) -> {
        if (cuts.getAndIncrement() % 2 == 0) {
          out.events().chunk(text.formatted(" upon")).reset();
        } else {
          out.stream(List.of(text.formatted(" a time"), "data: [DONE]\n\n"));
        }
      });
      pods.add(pod);
      router.cells.worker(id, pod.url(), "other");
    }

    assertThat(router.post(COMPLETIONS, asked.formatted(-1)).body())
        .isEqualTo(text.formatted(" upon") + text.formatted(" a time") + "data: [DONE]\n\n");
    assertThatThrownBy(() -> router.post(COMPLETIONS, asked.formatted(9))).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes_refused", "tokens")).isEqualTo(1);
  }

  @Test
  void cutAfterTheLastWord_isEndedHere() throws Exception {
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Hello")).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));
    String body = HELLO.replace("\"stream\":true", "\"max_tokens\":1,\"stream\":true");

    assertThat(router.post(CHAT, body).body()).startsWith(FIRST + said("one", "Hello"))
        .contains("\"finish_reason\":\"length\"").endsWith("data: [DONE]\n\n");

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes", "finished")).isEqualTo(1);
  }

  /** Of 17 tokens the text shows three; an engine that ends after 16 by default would have ended. */
  @Test
  void completionBeyondTheStandardLimit_isNotGivenOne() throws Exception {
    pod("a", (request, out) -> out.events().chunk(
        "data: {\"id\":\"one\",\"choices\":[{\"index\":0,\"text\":\" upon a time\"}],"
            + "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":17}}\n\n").reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThatThrownBy(() -> router.post(COMPLETIONS, "{\"model\":\"m\",\"stream\":true,\"prompt\":\"Once\"}"))
        .isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused", "tokens")).isEqualTo(1);
  }

  /** The tokens are an engine's, which is dear to ask: for the client's prompt, and for the first cut. */
  @Test
  void resumesUsedUp_nothingIsCounted() throws Exception {
    Prompts own = prompts(new Metrics(new PrometheusRegistry()));
    AtomicInteger counts = new AtomicInteger();
    EngineTokenizer engine = body -> {
      counts.incrementAndGet();
      PromptRequest request = new PromptRequest(Api.CHAT, "m", JSON.readTree(body), false, null);
      return Objects.requireNonNull(own.tokens(request, () -> { }));
    };
    router.close();
    router = new TestRouter(
        metrics -> prompts(PromptMode.ENGINE, engine, metrics), TestRouter.EXECUTION,
        "random { execute { resumes = 1 } }", CHOICE);
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "The") + said("one", " time")).reset());
    String rest = goesOn(HELLO, "The time", " was");
    counts.set(0);
    pod("b", (request, out) -> out.events().chunk(rest).reset());

    assertThatThrownBy(() -> router.post(CHAT, HELLO)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
    assertThat(router.metric("kvasir_resumes_refused", "most")).isEqualTo(1);
    assertThat(counts).as("the prompt's; those of what it goes on from are known").hasValue(1);
  }

  @Test
  void resumesUsedUp_butNothingLeftToGenerate_endsHere() throws Exception {
    router.close();
    router = new TestRouter(
        ResumeTest::prompts, TestRouter.EXECUTION, "random { execute { resumes = 1 } }", CHOICE);
    String body = HELLO.replace("\"stream\":true", "\"max_tokens\":3,\"stream\":true");
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "The time")).reset());
    String rest = goesOn(body, "The time", " was");
    pod("b", (request, out) -> out.events().chunk(rest).reset());

    assertThat(router.post(CHAT, body).body()).startsWith(FIRST + said("one", "The time") + said("one", " was"))
        .contains("\"finish_reason\":\"length\"").endsWith("data: [DONE]\n\n");

    assertThat(router.metric("kvasir_resumes", "finished")).isEqualTo(1);
  }

  @Test
  void nobodyGoesOn_theStreamEndsCut() throws Exception {
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Hel")).reset());
    pod("b", (request, out) -> out.json(400, "{}"));

    assertThatThrownBy(() -> router.post(CHAT, HELLO)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes", "failed")).isEqualTo(1);
  }

  /** An engine's own failure is another's to make good; an error of the request would be everybody's. */
  @ParameterizedTest
  @CsvSource({"500, 2", "503, 2", "400, 1"})
  void errorInTheStream_thatNobodyMakesGood_reachesTheClient(int code, int requests) throws Exception {
    String error = "data: {\"error\":{\"message\":\"no\",\"code\":%d}}\n\n".formatted(code) + "data: [DONE]\n\n";
    pod("a", (request, out) -> out.stream(List.of(FIRST, said("one", "Hel"), error)));
    ScriptedPod second = pod("b", (request, out) -> out.json(400, "{}"));

    assertThat(router.post(CHAT, HELLO).body()).isEqualTo(FIRST + said("one", "Hel") + error);

    assertThat(1 + second.seen.size()).isEqualTo(requests);
  }

  @Test
  void clientLeaves_whileAnotherIsAsked_thatOneHearsAtOnce() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Hel")).reset());
    ScriptedPod second = pod("b", (request, out) -> {
      out.awaitClosed();
      gone.countDown();
    });

    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire(CHAT, HELLO));
      second.next();
    }

    gone.await();
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Failed.class);
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Cancelled.class);
    assertThat(router.metric("kvasir_resumes")).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "\"n\":2", "\"tools\":[{}],\"tool_choice\":\"required\"", "\"logprobs\":true",
      "\"response_format\":{\"type\":\"json\"}", "\"seed\":7", "\"presence_penalty\":0.5"})
  void otherRequests_endCutAndAreCounted(String asked) throws Exception {
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Hel")).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThatThrownBy(() -> router.post(CHAT, HELLO.replace("\"stream\"", asked + ",\"stream\"")))
        .isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused")).isEqualTo(1);
  }

  /** Nothing hinders a request whose answer has no text yet from being made again. */
  @ParameterizedTest
  @ValueSource(strings = {"\"tools\":[{}],\"tool_choice\":\"required\"", "\"logprobs\":true", "\"seed\":7"})
  void cutBeforeTheFirstWord_isAskedForAgain(String asked) throws Exception {
    pod("a", (request, out) -> out.events().chunk(FIRST).reset());
    String called = "data: {\"id\":\"%s\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}\n\n";
    ScriptedPod second = pod("b", (request, out) -> out.stream(
        List.of(FIRST.replace("one", "two"), called.formatted("two"), "data: [DONE]\n\n")));
    String body = HELLO.replace("\"stream\"", asked + ",\"stream\"");

    assertThat(router.post(CHAT, body).body()).isEqualTo(FIRST + called.formatted("one") + "data: [DONE]\n\n");

    assertThat(second.next().text()).isEqualTo(body);
  }

  /** What a model has said before it may call a tool is text as any other. */
  @Test
  void cutBeforeACall_isContinued_andCutWithinIt_isNot() throws Exception {
    String body = HELLO.replace(
        "]}", "],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}");
    String call = said("one", "").replace("\"content\":\"\"", "\"tool_calls\":[{\"index\":0}]");
    pod("a", (request, out) -> out.events().chunk(FIRST + said("one", "Let me see.")).reset());
    pod("b", (request, out) -> out.events().chunk(goesOn(body, "Let me see.", " Yes.") + call).reset());

    assertThatThrownBy(() -> router.post(CHAT, body)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
    assertThat(router.metric("kvasir_resumes_refused", "tools")).isEqualTo(1);
  }

  /** As one worker of many dies with all that it has begun. */
  @ParameterizedTest
  @ValueSource(strings = {CHAT, COMPLETIONS, MESSAGES})
  void workerCrashes_underEightStreams_eachIsWhole(String path) throws Exception {
    router.close();
    router = new TestRouter(ResumeTest::prompts, TestRouter.EXECUTION, "", CHOICE);
    List<JsonNode> unbroken = events(engine(0).url(), path);
    SimEngine dying = engine(SLOW);
    worker("a", dying);
    CountDownLatch begun = new CountDownLatch(8);
    List<Future<List<String>>> answers = new ArrayList<>();
    try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int client = 0; client < 8; client++) {
        answers.add(clients.submit(() -> {
          List<String> lines = new ArrayList<>();
          try (Stream<String> stream =
              router.client().send(request(router.url(path), path), BodyHandlers.ofLines()).body()) {
            stream.forEach(line -> {
              lines.add(line);
              if (lines.size() == 5) {
                begun.countDown();
              }
            });
          }
          return lines;
        }));
      }
      begun.await();
      worker("b", engine(0));
      dying.crash();
    }

    for (Future<List<String>> answer : answers) {
      List<JsonNode> told = events(answer.get());
      assertThat(text(told)).isEqualTo(text(unbroken));
      if (path.equals(MESSAGES)) {
        assertThat(withoutId(told)).isEqualTo(withoutId(unbroken));
      } else {
        assertThat(told.getLast().at("/usage/completion_tokens"))
            .isEqualTo(unbroken.getLast().at("/usage/completion_tokens"));
      }
    }
    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(8);
  }

  @ParameterizedTest
  @ValueSource(strings = {"cut", "no-end"})
  void cutMessage_hasTheEventsOfAnUnbrokenOne(String fault) throws Exception {
    List<JsonNode> unbroken = events(engine(0).url(), MESSAGES);
    worker("a", engine(SLOW, fault + "=1x"));
    worker("b", engine(0));

    assertThat(withoutId(events(router.url(""), MESSAGES))).isEqualTo(withoutId(unbroken));
    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
  }

  @Test
  void cutMessage_isContinuedInItsBlockByAChat() throws Exception {
    String begun = message(promptTokens(HELLO)) + TEXT_BLOCK + delta("Hel");
    pod("a", (request, out) -> out.events().chunk(begun + "event: content_block_de").reset());
    String rest = goesOn(HELLO, "Hel", "lo");
    ScriptedPod second = pod("b", (request, out) -> out.stream(List.of(
        FIRST, rest,
        "data: {\"id\":\"two\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n")));

    assertThat(router.post(MESSAGES, MESSAGE).body()).isEqualTo(begun + delta("lo")
        + "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
        + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\","
        + "\"stop_sequence\":null},\"usage\":{\"input_tokens\":" + promptTokens(HELLO) + ",\"output_tokens\":"
        + (1 + tokens("Hel").length) + "}}\n\n"
        + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");

    assertThat(second.next().target()).isEqualTo(CHAT);
  }

  /** What fails behind the cut is the message's failure, in the form of its API. */
  @ParameterizedTest
  @ValueSource(ints = {400, 500})
  void chatThatFails_endsTheMessageInItsOwnForm(int code) throws Exception {
    String begun = message(promptTokens(HELLO)) + TEXT_BLOCK + delta("Hel");
    pod("a", (request, out) -> out.events().chunk(begun).reset());
    String rest = goesOn(HELLO, "Hel", "lo");
    pod("b", (request, out) -> out.stream(List.of(
        FIRST, rest, "data: {\"error\":{\"message\":\"no\",\"code\":" + code + "}}\n\n", "data: [DONE]\n\n")));

    assertThat(router.post(MESSAGES, MESSAGE).body()).isEqualTo(begun + delta("lo")
        + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"no\"}}\n\n");
  }

  /** The rest of a rest goes on in the same block; a call in it is not continued. */
  @Test
  void cutRestOfAMessage_isContinuedUntilItHasACall() throws Exception {
    allowDisconnects(4);
    String begun = message(promptTokens(HELLO)) + TEXT_BLOCK + delta("The time");
    String rest = goesOn(HELLO, "The time", " was");
    String more = goesOn(HELLO, "The time was", " good");
    String call = said("two", "").replace(
        "\"content\":\"\"", "\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\"}}]");
    pod("a", (request, out) -> out.events().chunk(begun).reset());
    pod("b", (request, out) -> out.events().chunk(FIRST + rest).reset());
    pod("c", (request, out) -> out.events().chunk(FIRST + more + call).reset());

    assertThatThrownBy(() -> router.post(MESSAGES, MESSAGE)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(2);
    assertThat(router.metric("kvasir_resumes_refused", "tools")).isEqualTo(1);
  }

  @Test
  void thoughtsBehindAMessagesText_areNotBelieved() throws Exception {
    String begun = message(promptTokens(HELLO)) + TEXT_BLOCK + delta("Hel");
    String thought = goesOn(HELLO, "Hel", "lo").replace("\"content\"", "\"reasoning\"");
    pod("a", (request, out) -> out.events().chunk(begun).reset());
    pod("b", (request, out) -> out.stream(List.of(FIRST, thought, "data: [DONE]\n\n")));

    assertThatThrownBy(() -> router.post(MESSAGES, MESSAGE)).isInstanceOf(IOException.class);

    assertThat(router.metric("kvasir_resumes_refused", "diverged")).isEqualTo(1);
  }

  /** Before its first word a message is requested again, and what the client has of it is left out. */
  @Test
  void messageCutBeforeTheFirstWord_isRequestedAgain() throws Exception {
    String end = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    pod("a", (request, out) -> out.events().chunk(message(5) + TEXT_BLOCK).reset());
    ScriptedPod second = pod("b", (request, out) -> out.stream(
        List.of(message(5).replace("one", "two"), TEXT_BLOCK, delta("Hello"), end)));

    assertThat(router.post(MESSAGES, MESSAGE).body()).isEqualTo(message(5) + TEXT_BLOCK + delta("Hello") + end);

    assertThat(second.next().target()).isEqualTo(MESSAGES);
  }

  /** As vLLM numbers them: before its first word a response is requested again, and has the events of one. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void responseCutBeforeTheFirstWord_isRequestedAgain(int passed) throws Exception {
    List<String> events = response("one");
    pod("a", (request, out) ->
        out.events().chunk(": hello\n\n" + String.join("", events.subList(0, passed))).reset());
    ScriptedPod second = pod("b", (request, out) -> out.stream(response("two")));

    String told = router.post(RESPONSES, RESPONSE).body();

    assertThat(told).isEqualTo(
        ": hello\n\n" + String.join("", passed == 0 ? response("two") : events));
    assertThat(second.next().text()).isEqualTo(RESPONSE);
    assertThat(router.metric("kvasir_resumes", "resumed")).isEqualTo(1);
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Failed.class);
    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Completed.class, completed -> {
      assertThat(completed.promptTokens()).isEqualTo(9);
      assertThat(completed.outputTokens()).isEqualTo(2);
    });
  }

  @ParameterizedTest
  @CsvSource({"one, 1", "two, 0"})
  void responseCutByTwo_isEndedByTheThird(String known, int passed) throws Exception {
    allowDisconnects(3);
    List<String> events = response(known);
    pod("a", (request, out) ->
        out.events().chunk(":\n\n" + String.join("", response("one").subList(0, passed))).reset());
    pod("b", (request, out) -> out.events().chunk(String.join("", response("two").subList(0, 2))).reset());
    pod("c", (request, out) -> out.stream(response("three")));

    assertThat(router.post(RESPONSES, RESPONSE).body()).isEqualTo(":\n\n" + String.join("", events));
  }

  /** Wherever the bytes end, the client has all of a response or one that ends cut. */
  @Test
  void responseCutAnywhere_isWholeOrEndsCut() throws Exception {
    List<String> events = response("one");
    String whole = String.join("", events);
    String other = String.join("", response("two"));
    int before = events.getFirst().length();
    int begun = before + events.get(1).length() + events.get(2).length();
    allowDisconnects(1000);
    AtomicInteger cut = new AtomicInteger();
    pods.add(new ScriptedPod((request, out) -> {
      if (cut.get() < 0) {
        out.stream(response("two"));
      } else {
        out.events().chunk(whole.substring(0, cut.getAndSet(-1))).reset();
      }
    }));
    router.cells.worker("a", pods.getLast().url(), "m");
    router.cells.worker("b", pods.getLast().url(), "m");

    for (int at = 1; at < whole.length(); at += 5) {
      cut.set(at);
      // An event that lacks its blank line only is whole.
      boolean isBegun = at >= begun - 2 && at < whole.length() - 2;
      try {
        assertThat(router.post(RESPONSES, RESPONSE).body()).as("cut at %s", at)
            .isEqualTo(at < before - 2 ? other : whole);
        assertThat(isBegun).as("cut at %s", at).isFalse();
      } catch (IOException endsCut) {
        assertThat(isBegun).as("cut at %s", at).isTrue();
        cut.set(-1);
      }
    }
  }

  @Test
  void responseCutBehindItsEnd_isWhole() throws Exception {
    pod("a", (request, out) -> out.events().chunk(String.join("", response("one"))).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThat(router.post(RESPONSES, RESPONSE).body()).isEqualTo(String.join("", response("one")));

    assertThat(second.seen).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "3 | \"store\":false | api", "2 | \"store\":true | stored", "2 | \"user\":\"me\" | stored",
      "2 | \"store\":false,\"previous_response_id\":\"r\" | stored",
      "2 | \"store\":false,\"tools\":[{\"type\":\"web_search\"}] | tools"})
  void otherResponses_endCutAndAreCounted(int passed, String member, String why) throws Exception {
    pod("a", (request, out) ->
        out.events().chunk(String.join("", response("one").subList(0, passed))).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThatThrownBy(() -> router.post(RESPONSES, RESPONSE.replace("\"store\":false", member)))
        .isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused", why)).isEqualTo(1);
  }

  /** An event of a response that goes on, whose end and whose begin have the response itself. */
  private static List<String> response(String id) {
    String own = "\"response\":{\"id\":\"" + id + "\",\"object\":\"response\",\"status\":\"%s\",\"usage\":%s}";
    String delta = "\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hello\",\"logprobs\":[]";
    String usage = "{\"input_tokens\":9,\"output_tokens\":2,\"total_tokens\":11}";
    return List.of(
        responseEvent("created", 0, own.formatted("in_progress", "null")),
        responseEvent("in_progress", 1, own.formatted("in_progress", "null")),
        responseEvent("output_text.delta", 2, delta),
        responseEvent("completed", 3, own.formatted("completed", usage)));
  }

  private static String responseEvent(String type, int number, String members) {
    return "event: response.%s\ndata: {\"type\":\"response.%s\",\"sequence_number\":%d,%s}\n\n".formatted(
        type, type, number, members);
  }

  @ParameterizedTest
  @CsvSource({"thinking, reasoning", "tool_use, tools", "image, other"})
  void messageWithAnotherBlock_endsCut(String block, String why) throws Exception {
    pod("a", (request, out) -> out.events().chunk(
        message(promptTokens(HELLO)) + TEXT_BLOCK + delta("Hel")
            + TEXT_BLOCK.replace("\"text\",", "\"" + block + "\",").replace("0", "1")).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThatThrownBy(() -> router.post(MESSAGES, MESSAGE)).isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused", why)).isEqualTo(1);
  }

  /** An engine that translates the message into another prompt, or does not report it. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void messageOfAnotherPrompt_endsCut(int more) throws Exception {
    int prompt = more == 0 ? 0 : promptTokens(HELLO) + more;
    pod("a", (request, out) -> out.events().chunk(message(prompt) + TEXT_BLOCK + delta("Hel")).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThatThrownBy(() -> router.post(MESSAGES, MESSAGE)).isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused", "tokens")).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "\"stop_sequences\":[\"x\"] | stop", "\"thinking\":{\"type\":\"enabled\"} | prompt",
      "\"tool_choice\":{\"type\":\"any\"},\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"}}] | tools",
      "\"tools\":[{\"name\":\"f\",\"input_schema\":{}}] | tools",
      "\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"},\"strict\":true}] | tools"})
  void otherMessages_endCut(String member, String why) throws Exception {
    pod("a", (request, out) -> out.events().chunk(
        message(promptTokens(HELLO)) + TEXT_BLOCK + delta("Hel")).reset());
    ScriptedPod second = pod("b", (request, out) -> out.json(500, "{}"));

    assertThatThrownBy(() -> router.post(MESSAGES, MESSAGE.replace("\"stream\"", member + ",\"stream\"")))
        .isInstanceOf(IOException.class);

    assertThat(second.seen).isEmpty();
    assertThat(router.metric("kvasir_resumes_refused", why)).isEqualTo(1);
  }

  /** Wherever the bytes end, the client has a text that the answer begins with, and all of it where there is an end. */
  @Test
  void messageCutAnywhere_isWholeOrEndsCut() throws Exception {
    String whole = message(promptTokens(HELLO)) + TEXT_BLOCK + delta("Hel") + delta("lo")
        + "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
        + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
        + "\"usage\":{\"output_tokens\":2}}\n\n"
        + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    allowDisconnects(1000);
    AtomicInteger cut = new AtomicInteger();
    String afterHel = goesOn(HELLO, "Hel", "lo");
    pods.add(new ScriptedPod((request, out) -> {
      if (request.target().equals(CHAT)) {
        out.stream(List.of(afterHel, said("two", "").replace("}}]", "},\"finish_reason\":\"stop\"}]"),
            "data: [DONE]\n\n"));
      } else if (cut.get() < 0) {
        out.stream(List.of(whole));
      } else {
        out.events().chunk(whole.substring(0, cut.getAndSet(-1))).reset();
      }
    }));
    router.cells.worker("a", pods.getLast().url(), "m");
    router.cells.worker("b", pods.getLast().url(), "m");
    int ended = 0;

    for (int at = 1; at < whole.length(); at += 7) {
      cut.set(at);
      try {
        assertThat(text(events(router.post(MESSAGES, MESSAGE).body().lines().toList()))).isEqualTo("Hello");
        ended++;
      } catch (IOException endsCut) {
        assertThat(endsCut).as("cut at %s", at).isNotNull();
      }
    }
    assertThat(ended).isGreaterThan(whole.length() / 14);
  }

  private int promptTokens(String request) throws IOException {
    return Objects.requireNonNull(
        router.prompts.tokens(new PromptRequest(Api.CHAT, "m", JSON.readTree(request), false, null), () -> { })).length;
  }

  private static String message(int prompt) {
    return "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"one\",\"type\":\"message\","
        + "\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":" + prompt
        + ",\"output_tokens\":0}}}\n\n";
  }

  private static String delta(String text) {
    return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
        + "\"delta\":{\"type\":\"text_delta\",\"text\":\"" + text + "\"}}\n\n";
  }

  /**
   * What does not differ from one message to the next: all but its id, which tokens came together, and that nothing was
   * cached, as engines say at the end: of one that was cut nobody knows.
   */
  private static List<String> withoutId(List<JsonNode> events) {
    Stream<String> frame = events.stream()
        .filter(event -> !event.path("type").asText().equals("content_block_delta"))
        .map(event -> event.toString().replaceAll("\"id\":\"[^\"]*\"|\"cache_read_input_tokens\":0,", ""));
    return Stream.concat(frame, Stream.of(text(events))).toList();
  }

  /** The tokenizer and template of the engines. */
  private static Prompts prompts(Metrics metrics) throws IOException {
    return prompts(PromptMode.EXACT, null, metrics);
  }

  private static Prompts prompts(PromptMode mode, @Nullable EngineTokenizer engine, Metrics metrics)
      throws IOException {
    ModelConfig model = new ModelConfig(
        "m", Set.of(), 16, mode, ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), 0, false);
    return Prompts.load(
        List.of(model), PromptSettings.ofMemo(1 << 20), _ -> engine, Runnable::run, Clock.systemUTC(),
        NanoClock.SYSTEM, metrics);
  }

  private static String said(String id, String text) {
    return "data: {\"id\":\"" + id + "\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"}}]}\n\n";
  }

  /** The same, with usage that shows on which tokens the engine goes on: those of a request and of the text. */
  private String goesOn(String request, String told, String text) throws IOException {
    String rest = request.replaceFirst(
        "}]", "},{\"role\":\"assistant\",\"content\":\"" + told + "\"}],\"continue_final_message\":true,"
            + "\"add_generation_prompt\":false");
    int[] prompt =
        Objects.requireNonNull(
            router.prompts.tokens(new PromptRequest(Api.CHAT, "m", JSON.readTree(rest), false, null), () -> { }));
    return said("two", text)
        .replace("]}\n", "],\"usage\":{\"prompt_tokens\":" + prompt.length + ",\"completion_tokens\":1}}\n");
  }

  /** Has two workers join, of which that for prompts finds all of the answer. */
  private Runnable finishedPrefill() {
    ScriptedPod prefill = new ScriptedPod((request, out) -> out.json(200,
        "{\"id\":\"p\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"lo\"},"
            + "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":14,\"completion_tokens\":1}}"));
    ScriptedPod decode = new ScriptedPod((request, out) -> out.json(500, "{}"));
    pods.addAll(List.of(prefill, decode));
    return () -> {
      router.cells.splitter("p", prefill.url(), Role.PREFILL, KvTransfer.Dialect.TENSORRT_LLM, "m");
      router.cells.splitter("d", decode.url(), Role.DECODE, KvTransfer.Dialect.TENSORRT_LLM, "m");
    };
  }

  private ScriptedPod pod(String id, ScriptedPod.Script script) {
    ScriptedPod pod = new ScriptedPod(script);
    pods.add(pod);
    router.cells.worker(id, pod.url(), "m");
    return pod;
  }

  private void worker(String id, SimEngine engine) {
    router.cells.worker(id, engine.url(), "m");
  }

  private SimEngine engine(double speed, String... faults) throws IOException {
    return started(settings(speed, faults));
  }

  private void splitter(String id, Role role, String... faults) throws IOException {
    double speed = faults.length == 0 ? 0 : SLOW;
    SimEngine engine = started(
        settings(speed, faults).role(role)
            .transfer(TransferSettings.of(TransferDialect.VLLM_NIXL).withAddress(0, "engine-" + id)));
    router.cells.splitter(
        id, engine.url(), role, KvTransfer.Dialect.VLLM_NIXL, engine.transferPort(), "m");
  }

  private SimEngine started(SimSettings.Builder settings) throws IOException {
    SimEngine engine = SimEngine.start(settings.build());
    engines.add(engine);
    return engine;
  }

  private static SimSettings.Builder settings(double speed, String... faults) {
    return SimSettings.builder().model("m").speed(speed).port(0).capacityBlocks(512).events(EventSettings.OFF)
        .faults(Stream.of(faults).map(InjectedFault::parse).toList());
  }

  private static String body(String path) {
    return path.equals(MESSAGES)
        ? "{\"messages\":[{\"role\":\"user\",\"content\":\"" + QUESTION + "\"}],\"stream\":true,"
            + "\"temperature\":0,\"max_tokens\":40,\"model\":\"m\"}"
        : path.equals(CHAT)
        ? "{\"messages\":[{\"role\":\"user\",\"content\":\"" + QUESTION + "\"}]," + REST
        : "{\"prompt\":\"" + QUESTION + "\"," + REST;
  }

  private HttpRequest request(URI url, String path) {
    return HttpRequest.newBuilder(url)
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(body(path)))
        .timeout(Duration.ofSeconds(60))
        .build();
  }

  private List<JsonNode> events(URI base, String path) throws Exception {
    URI url = base.resolve(path);
    return events(router.client().send(request(url, path), BodyHandlers.ofString()).body().lines().toList());
  }

  private static List<JsonNode> events(List<String> lines) throws IOException {
    assertThat(lines).containsAnyOf("data: [DONE]", "event: message_stop");
    List<JsonNode> events = new ArrayList<>();
    for (String line : lines) {
      if (line.startsWith("data: {")) {
        events.add(JSON.readTree(line.substring(6)));
      }
    }
    return events;
  }

  private static String text(List<JsonNode> events) {
    StringBuilder text = new StringBuilder();
    for (JsonNode event : events) {
      JsonNode choice = event.at("/choices/0");
      text.append(choice.path("text").asText("")).append(choice.at("/delta/content").asText(""))
          .append(event.at("/delta/text").asText(""));
    }
    return text.toString();
  }
}
