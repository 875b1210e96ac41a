package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.errors.NotFoundException;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.embeddings.EmbeddingCreateParams;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A whole node and simulated engines over real sockets: HTTP in front, HTTP and ZMQ behind. */
final class EndToEndIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<SimEngine> engines = new ArrayList<>();

  private Node node;

  @BeforeEach
  void start() throws Exception {
    for (int i = 0; i < 4; i++) {
      engines.add(engine(0, 0, 0, i));
    }
    node = TestNodes.start(config());
    await("all workers to be healthy", () -> DemoCommand.healthy(node) == engines.size());
  }

  @AfterEach
  void stop() {
    node.close();
    engines.forEach(SimEngine::close);
  }

  @Test
  void warmRequest_landsWhereTheColdOneWent() throws Exception {
    String system = words(1, 300);
    HttpResponse<String> cold = chat(system, "What is cached?");
    assertThat(cold.statusCode()).isEqualTo(200);
    String worker = header(cold, "X-Router-Backend");
    assertThat(header(cold, "X-Router-Reason")).contains("expected-cost", "cached=0/");
    await("the cold request's blocks to be indexed", () -> blocks() > 0);

    HttpResponse<String> warm = chat(system, "And now?");
    assertThat(header(warm, "X-Router-Backend")).isEqualTo(worker);
    int cached = JSON.readTree(warm.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    assertThat(cached).isGreaterThan(100);
    assertThat(header(warm, "X-Router-Reason")).contains("cached=" + cached + "/");
  }

  @Test
  void openaiJava_chatStreamErrorEmbeddingsModels() {
    OpenAIClient client =
        OpenAIOkHttpClient.builder()
            .baseUrl(TestNodes.gateway(node, "/v1").toString())
            .apiKey("unused")
            .maxRetries(0)
            .build();
    ChatCompletionCreateParams params =
        ChatCompletionCreateParams.builder().model(MODEL).addUserMessage("Hello there").maxCompletionTokens(8).build();

    ChatCompletion answer = client.chat().completions().create(params);
    assertThat(answer.choices().get(0).message().content().orElse("")).isNotEmpty();
    assertThat(answer.usage()).isPresent();

    StringBuilder streamed = new StringBuilder();
    try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(params)) {
      chunks.stream()
          .flatMap(chunk -> chunk.choices().stream())
          .flatMap(choice -> choice.delta().content().stream())
          .forEach(streamed::append);
    }
    assertThat(streamed).isNotEmpty();

    assertThatThrownBy(() -> client.chat().completions().create(params.toBuilder().model("no-such-model").build()))
        .isInstanceOf(NotFoundException.class)
        .hasMessageContaining("no-such-model");

    assertThat(
            client.embeddings()
                .create(EmbeddingCreateParams.builder().model(MODEL).input("to be embedded").build())
                .data())
        .hasSize(1);
    assertThat(client.models().list().data()).anyMatch(model -> model.id().equals(MODEL));
  }

  @Test
  void killedWorker_noClientSeesAnError_andItsBlocksAreGoneWhenItReturns() throws Exception {
    List<Callable<Integer>> load = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      int session = i % 8;
      load.add(() -> chat(words(session, 200), "question").statusCode());
    }
    chat(words(0, 200), "question");
    await("blocks to be indexed", () -> blocks() > 0);
    SimEngine victim = engines.get(1);
    try (var executor = Executors.newFixedThreadPool(8)) {
      List<Future<Integer>> answers = load.stream().map(executor::submit).toList();
      answers.get(50).get(60, TimeUnit.SECONDS);
      victim.close();
      for (Future<Integer> answer : answers) {
        assertThat(answer.get(60, TimeUnit.SECONDS)).isEqualTo(200);
      }
    }
    await("the dead worker to be noticed", () -> DemoCommand.healthy(node) == 3);

    engines.set(1, engine(port(victim.url()), zmqPort(victim.eventsEndpoint()), zmqPort(victim.replayEndpoint()), 1));
    await("the restarted worker to be back", () -> DemoCommand.healthy(node) == 4);
    await("its old blocks to be gone", () -> blocksOf("sim-1") == 0);
  }

  @Test
  void everyRequestOver_nothingStaysBooked() throws Exception {
    for (int i = 0; i < 20; i++) {
      chat(words(i, 50), "question");
    }
    // A client that leaves in the middle.
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), node.gateway().getPort()));
      byte[] body = body(words(99, 100), "leave", 100_000, true).getBytes(StandardCharsets.UTF_8);
      String head =
          "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: "
              + body.length
              + "\r\n\r\n";
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      socket.getOutputStream().write(body);
      assertThat(socket.getInputStream().read()).isEqualTo('H');
    }
    await(
        "every reservation to be given back",
        () -> node.fleet().workers().stream()
            .map(WorkerStatus::load)
            .allMatch(load -> load.inFlight() == 0 && load.pendingTokens() == 0));
    await(
        "the engines to have nothing left",
        () -> engines.stream().allMatch(engine -> engine.stats().running() == 0 && engine.stats().waiting() == 0));
  }

  @Test
  void badInput_isAnsweredClearly() throws Exception {
    HttpResponse<String> malformed = post("/v1/chat/completions", "{\"model\": ");
    assertThat(malformed.statusCode()).isEqualTo(400);
    assertThat(JSON.readTree(malformed.body()).at("/error/message").asText()).isNotBlank();

    HttpResponse<String> noModel = post("/v1/messages", "{\"messages\": []}");
    assertThat(noModel.statusCode()).isEqualTo(400);
    JsonNode error = JSON.readTree(noModel.body());
    assertThat(error.path("type").asText()).isEqualTo("error");
    assertThat(error.at("/error/message").asText()).contains("model");

    HttpResponse<String> large = post("/v1/chat/completions", "x".repeat(3 << 20));
    assertThat(large.statusCode()).isEqualTo(413);

    assertThat(chat("still", "alive?").statusCode()).isEqualTo(200);
  }

  @Test
  void admin_addDrainRemove() throws Exception {
    try (SimEngine more = engine(0, 0, 0, 9)) {
      HttpResponse<String> added =
          admin(
              "POST",
              "/admin/workers",
              """
              {"name": "late", "url": "%s", "models": ["%s"],
               "events": {"endpoint": "%s", "replay": "%s"}}
              """
                  .formatted(more.url(), MODEL, more.eventsEndpoint(), more.replayEndpoint()));
      assertThat(added.statusCode()).as(added.body()).isBetween(200, 201);
      await("the added worker to be healthy", () -> DemoCommand.healthy(node) == 5);
      assertThat(admin("POST", "/admin/workers/late/drain", "").statusCode()).isBetween(200, 202);
      assertThat(admin("GET", "/admin/workers", "").body()).contains("\"late\"");
      assertThat(admin("DELETE", "/admin/workers/late", "").statusCode()).isBetween(200, 204);
      await("the removed worker to be gone", () -> node.fleet().workers().size() == 4);
    }
    assertThat(admin("POST", "/admin/workers", "{\"name\": 1}").statusCode()).isEqualTo(400);
    HttpResponse<String> tooLong = admin("POST", "/admin/workers", " ".repeat(1 << 21));
    assertThat(tooLong.statusCode()).isEqualTo(413);
    assertThat(JSON.readTree(tooLong.body()).at("/error/code").asText()).isEqualTo("body_too_large");
    assertThat(admin("PUT", "/admin/workers", "{}").headers().firstValue("Allow")).hasValue("GET, POST");
  }

  @Test
  void management_readyMetricsCluster() throws Exception {
    assertThat(admin("GET", "/ready", "").body()).contains("\"ready\":true");
    assertThat(admin("GET", "/alive", "").statusCode()).isEqualTo(200);
    assertThat(admin("GET", "/cluster/members/", "").body()).contains("Up");
    chat("some", "traffic");
    assertThat(admin("GET", "/metrics", "").body())
        .contains("kvasir_requests_total", "kvasir_index_rows", "kvasir_events_messages_total", "jvm_memory");
  }

  @Test
  void metrics_byProfile_tellPoliciesApart() throws Exception {
    for (int i = 0; i < 4; i++) {
      streamWithUsage(words(1, 300), "expected-cost");
      streamWithUsage(words(2, 300), "round-robin");
    }
    post("/v1/chat/completions", "{\"model\": \"no-such-model\"}", "X-Router-Profile", "random");
    await(
        "all requests to be counted",
        () -> series("kvasir_requests_total", "expected-cost") + series("kvasir_requests_total", "round-robin") == 8);

    for (String profile : List.of("expected-cost", "round-robin")) {
      assertThat(series("kvasir_decisions_total", profile, "result=\"chosen\"", "model=\"" + MODEL + '"'))
          .isEqualTo(4);
      assertThat(series("kvasir_ttft_seconds_count", profile, "model=\"" + MODEL + '"')).isEqualTo(4);
      assertThat(series("kvasir_requests_total", profile, "status=\"2xx\"")).isEqualTo(4);
      assertThat(series("kvasir_fallback_decisions_total", profile)).isZero();
    }
    assertThat(series("kvasir_requests_total", "random", "model=\"unknown\"", "status=\"4xx\"")).isEqualTo(1);
    assertThat(hitRate("actual", "expected-cost")).isGreaterThan(0.5).isGreaterThan(hitRate("actual", "round-robin"));
    assertThat(hitRate("predicted", "expected-cost")).isGreaterThan(hitRate("predicted", "round-robin"));
  }

  /** The router asks engines for the usage of such streams, and keeps the event from the client. */
  @Test
  void stream_whoseClientDoesNotAskForUsage_isCountedAllTheSame() throws Exception {
    HttpResponse<String> answer =
        post("/v1/chat/completions", body(words(3, 300), "question", 8, true), "X-Router-Profile", "random");

    assertThat(answer.body()).contains("[DONE]").doesNotContain("\"prompt_tokens\"");
    await(
        "its usage to be counted",
        () -> series("kvasir_usage_prompt_tokens_total", "random", "cache_report=\"true\"") > 300);
  }

  private void streamWithUsage(String system, String profile) throws Exception {
    String body = body(system, "question", 8, true);
    post(
        "/v1/chat/completions",
        body.replace("\"stream\": true", "\"stream\": true, \"stream_options\": {\"include_usage\": true}"),
        "X-Router-Profile",
        profile);
  }

  private double hitRate(String kind, String profile) throws Exception {
    return series("kvasir_cached_tokens_total", profile, "kind=\"" + kind + '"')
        / series("kvasir_usage_prompt_tokens_total", profile, "cache_report=\"true\"");
  }

  /** The sum of a profile's series that have these labels. */
  private double series(String name, String profile, String... labels) throws Exception {
    return admin("GET", "/metrics", "").body().lines()
        .filter(line -> line.startsWith(name + "{") && line.contains("profile=\"" + profile + '"'))
        .filter(line -> Stream.of(labels).allMatch(line::contains))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .sum();
  }

  private static SimEngine engine(int port, int events, int replay, int number) throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .host("127.0.0.1")
            .port(port)
            .model(MODEL)
            .speed(20)
            .seed(number)
            .events(EventSettings.DEFAULT.withLoopback().withPorts(events, replay))
            .build());
  }

  private String config() {
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < engines.size(); i++) {
      SimEngine engine = engines.get(i);
      pods.append(
          "{ name = sim-%d, url = \"%s\", models = [%s], events { endpoint = \"%s\", replay = \"%s\" } }\n"
              .formatted(i, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint()));
    }
    return """
        kvasir {
          gateway.max-body = 2 MiB
          cell.health.probe-interval = 500 ms
          models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
          pods = [ %s ]
        }
        """
        .formatted(MODEL, pods);
  }

  private HttpResponse<String> chat(String system, String question) throws Exception {
    return post("/v1/chat/completions", body(system, question, 8, false));
  }

  private static String body(String system, String question, int tokens, boolean stream) {
    return """
        {"model": "%s", "max_tokens": %d, "ignore_eos": true, "stream": %s, "messages": [
          {"role": "system", "content": "%s"}, {"role": "user", "content": "%s"}]}
        """
        .formatted(MODEL, tokens, stream, system, question);
  }

  private HttpResponse<String> post(String path, String body, String... headers) throws Exception {
    return TestNodes.post(node, path, body, headers);
  }

  private HttpResponse<String> admin(String method, String path, String body) throws Exception {
    return TestNodes.manage(node, method, path, body);
  }

  private int blocks() {
    return node.fleet().workers().stream().mapToInt(worker -> worker.index().blocks()).sum();
  }

  private int blocksOf(String id) {
    return node.fleet().workers().stream()
        .filter(worker -> worker.worker().id().equals(id))
        .mapToInt(worker -> worker.index().blocks())
        .sum();
  }

  private static int port(URI uri) {
    return uri.getPort();
  }

  private static int zmqPort(@Nullable String endpoint) {
    String text = String.valueOf(endpoint);
    return Integer.parseInt(text.substring(text.lastIndexOf(':') + 1));
  }

  /** A text of that many words, which begins as no other seed's does. */
  static String words(int seed, int count) {
    Random random = new Random(seed);
    StringBuilder words = new StringBuilder();
    for (int i = 0; i < count; i++) {
      words.append((char) ('a' + random.nextInt(26))).append((char) ('a' + random.nextInt(26))).append(' ');
    }
    return words.toString();
  }
}
