package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.http.ApiPath;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Split requests at engines that hold their families' rules: the answers are those of one engine that does it all. */
final class SplitEnginesTest {
  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final String TEXT = "Once there was a king who counted every tree in his land. ".repeat(12);
  private static final String COMPLETIONS =
      "{\"model\":\"m\",\"prompt\":\"" + TEXT + "\",\"max_tokens\":12,\"ignore_eos\":true}";
  private static final String CHAT =
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" + TEXT + "\"}],\"max_tokens\":12,"
          + "\"ignore_eos\":true}";

  private TestRouter router;
  private final List<SimEngine> engines = new ArrayList<>();

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter();
  }

  @AfterEach
  void stop() {
    router.close();
    engines.forEach(SimEngine::close);
    // The thread of an answer closes its reservation when the client has all of it.
    await("no reservation is left open", () -> router.cells.open.get() == 0);
    assertThat(router.cells.closedTwice).as("reservations closed twice").hasValue(0);
  }

  private SimEngine engine(Role role, TransferSettings transfer, long seed) throws IOException {
    SimEngine engine = SimEngine.start(SimSettings.builder()
        .model("m").speed(0).role(role).transfer(transfer).seed(seed)
        .port(0).capacityBlocks(512).events(EventSettings.OFF).build());
    engines.add(engine);
    return engine;
  }

  private SimEngine splitter(String id, Role role, TransferDialect dialect, long seed) throws IOException {
    SimEngine engine = engine(role, TransferSettings.of(dialect).withAddress(0, "engine-" + id), seed);
    KvTransfer.Dialect spoken = dialect == TransferDialect.VLLM_NIXL_OLD
        ? KvTransfer.Dialect.VLLM_NIXL
        : KvTransfer.Dialect.valueOf(dialect.name());
    router.cells.splitter(id, engine.url(), role, spoken, engine.transferPort(), "m");
    return engine;
  }

  @ParameterizedTest
  @EnumSource(value = TransferDialect.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void splitAnswers_areThoseOfOneEngine(TransferDialect dialect) throws Exception {
    router.cells.policies.put(RoutingPlan.PREFILL, FailurePolicy.FAIL);
    SimEngine alone = engine(Role.BOTH, TransferSettings.NONE, 9);
    SimEngine prefill = splitter("p", Role.PREFILL, dialect, 1);
    SimEngine decode = splitter("d", Role.DECODE, dialect, 2);
    String expected = text(direct(alone, "/v1/completions", COMPLETIONS), "text");
    String expectedChat = chat(direct(alone, "/v1/chat/completions", CHAT));

    HttpResponse<String> whole = router.post("/v1/completions", COMPLETIONS);
    HttpResponse<String> streamed = router.post("/v1/completions", streaming(COMPLETIONS));
    HttpResponse<String> chat = router.post("/v1/chat/completions", CHAT);

    assertThat(text(JSON.readTree(whole.body()), "text")).isEqualTo(expected).isNotEmpty();
    assertThat(said(streamed.body())).isEqualTo(expected);
    assertThat(streamed.body()).endsWith("data: [DONE]\n\n");
    assertThat(chat(JSON.readTree(chat.body()))).isEqualTo(expectedChat);
    for (HttpResponse<String> response : List.of(whole, streamed, chat)) {
      assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("d");
      assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).hasValue("p");
    }
    assertThat(decode.transferStats().received()).isPositive();
    assertThat(decode.transferStats().ignored()).isZero();
    assertThat(decode.transferStats().failed()).isZero();
    await(() -> prefill.transferStats().held() == 0);
  }

  /** As a proxy's or a tracing library's may be that hands on what it got. */
  @ParameterizedTest
  @EnumSource(value = TransferDialect.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void requestsThatClientsGaveOneId_getTheirOwnBlocks(TransferDialect dialect) throws Exception {
    router.cells.policies.put(RoutingPlan.PREFILL, FailurePolicy.FAIL);
    SimEngine alone = engine(Role.BOTH, TransferSettings.NONE, 9);
    splitter("p", Role.PREFILL, dialect, 1);
    SimEngine decode = splitter("d", Role.DECODE, dialect, 2);

    List<Future<HttpResponse<String>>> answers = new ArrayList<>();
    try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 8; i++) {
        String body = numbered(i);
        answers.add(clients.submit(() -> router.post("/v1/completions", body, "X-Request-Id", "one")));
      }
    }

    for (int i = 0; i < answers.size(); i++) {
      assertThat(text(JSON.readTree(answers.get(i).get().body()), "text")).as("request %d", i)
          .isEqualTo(text(direct(alone, "/v1/completions", numbered(i)), "text")).isNotEmpty();
    }
    assertThat(decode.transferStats().failed()).isZero();
  }

  private static String numbered(int i) {
    return COMPLETIONS.replace("Once", i + " times");
  }

  @ParameterizedTest
  @EnumSource(value = TransferDialect.class, names =
      {"VLLM_NIXL", "VLLM_NIXL_OLD", "VLLM_PUSH", "VLLM_MOONCAKE", "SGLANG", "TENSORRT_LLM"})
  void responsesAndMessages_areSplitToo(TransferDialect dialect) throws Exception {
    responsesAndMessagesAreSplit(dialect);
  }

  @Test
  void responsesAndMessages_areSplitAsTheyAre_whereBothEnginesSplitThem() throws Exception {
    LearntEngine both =
        new LearntEngine(null, false, false, false, 0, Set.of(ApiPath.RESPONSES, ApiPath.MESSAGES), Map.of());
    router.cells.engines.put("p", both);
    router.cells.engines.put("d", both);

    responsesAndMessagesAreSplit(TransferDialect.SGLANG);
  }

  private void responsesAndMessagesAreSplit(TransferDialect dialect) throws Exception {
    router.cells.policies.put(RoutingPlan.PREFILL, FailurePolicy.FAIL);
    splitter("p", Role.PREFILL, dialect, 1);
    SimEngine decode = splitter("d", Role.DECODE, dialect, 2);
    String responses =
        "{\"model\":\"m\",\"input\":\"" + TEXT + "\",\"max_output_tokens\":8,\"ignore_eos\":true}";
    String messages = "{\"model\":\"m\",\"max_tokens\":8,\"ignore_eos\":true,\"messages\":[{\"role\":\"user\","
        + "\"content\":\"" + TEXT + "\"}]}";

    JsonNode response = JSON.readTree(split("/v1/responses", responses));
    JsonNode message = JSON.readTree(split("/v1/messages", messages));
    String responseStream = split("/v1/responses", streaming(responses));
    String messageStream = split("/v1/messages", streaming(messages));

    String said = response.at("/output/0/content/0/text").asText();
    assertThat(response.path("object").asText()).isEqualTo("response");
    assertThat(said).isNotEmpty();
    assertThat(response.at("/usage/output_tokens").asInt()).isEqualTo(8);
    assertThat(message.path("type").asText()).isEqualTo("message");
    assertThat(message.at("/content/0/text").asText()).isNotEmpty();
    assertThat(message.path("stop_reason").asText()).isEqualTo("max_tokens");
    assertThat(responseStream).contains("event: response.created", "event: response.output_text.delta");
    assertThat(responseStream).containsPattern("event: response\\.(completed|incomplete)");
    assertThat(messageStream).contains("event: message_start", "\"text_delta\"").contains("event: message_stop");
    assertThat(decode.transferStats().received()).isPositive();
    assertThat(decode.transferStats().ignored()).isZero();
    assertThat(decode.transferStats().failed()).isZero();
  }

  private String split(String path, String body) throws Exception {
    HttpResponse<String> response = router.post(path, body);
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).hasValue("p");
    return response.body();
  }

  @ParameterizedTest
  @EnumSource(value = TransferDialect.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void prefillEngineDies_anotherReadsThePrompt(TransferDialect dialect) throws Exception {
    router.cells.policies.put(RoutingPlan.PREFILL, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    SimEngine dead = splitter("p1", Role.PREFILL, dialect, 1);
    splitter("p2", Role.PREFILL, dialect, 3);
    SimEngine decode = splitter("d", Role.DECODE, dialect, 2);
    dead.close();

    HttpResponse<String> response = router.post("/v1/completions", COMPLETIONS);

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("X-Router-Prefill-Backend")).hasValue("p2");
    assertThat(decode.transferStats().received()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(
      value = TransferDialect.class,
      names = {"VLLM_NIXL", "VLLM_NIXL_OLD", "VLLM_PUSH", "VLLM_MOONCAKE", "TENSORRT_LLM"})
  void noPrefillEngineLives_decodeAnswersAlone(TransferDialect dialect) throws Exception {
    router.cells.policies.put(RoutingPlan.PREFILL, FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    splitter("p", Role.PREFILL, dialect, 1).close();
    splitter("d", Role.DECODE, dialect, 2);

    HttpResponse<String> response = router.post("/v1/completions", COMPLETIONS);

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(text(JSON.readTree(response.body()), "text")).isNotEmpty();
    assertThat(response.headers().firstValue("X-Router-Reason").orElse("")).contains("without prefill");
  }

  private JsonNode direct(SimEngine engine, String path, String body) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(engine.url().resolve(path))
        .header("content-type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(body)).build();
    return JSON.readTree(router.client().send(request, HttpResponse.BodyHandlers.ofString()).body());
  }

  private static String streaming(String body) {
    return body.substring(0, body.length() - 1) + ",\"stream\":true}";
  }

  private static String text(JsonNode answer, String field) {
    return answer.at("/choices/0/" + field).asText();
  }

  private static String chat(JsonNode answer) {
    return answer.at("/choices/0/message/content").asText();
  }

  private static String said(String stream) throws IOException {
    StringBuilder said = new StringBuilder();
    for (String line : stream.lines().toList()) {
      if (line.startsWith("data: {")) {
        said.append(JSON.readTree(line.substring(6)).at("/choices/0/text").asText(""));
      }
    }
    return said.toString();
  }
}
