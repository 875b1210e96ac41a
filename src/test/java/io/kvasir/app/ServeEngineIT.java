package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.init.FleetOptions;
import io.kvasir.app.init.LearntConfiguration;
import io.kvasir.app.node.Node;
import io.kvasir.prompt.tokens.HarmonyVocabulary;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Routers that are told no more than the URLs of engines. */
final class ServeEngineIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String GUIDE = "Say when the sun sets, name places and prices, and keep it short. ".repeat(12);

  private static final String RESPONSES_TOOLS =
      "[{\"type\": \"function\", \"name\": \"look_up\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}]";

  private static final String TOOLS =
      "[{\"type\": \"function\", \"function\": {\"name\": \"look_up\", \"parameters\": {\"type\": \"object\"}}}]";

  @TempDir private Path directory = Path.of("");

  /** One router for all of them; the models' tokenizers are on this machine for one, at the engines for the others. */
  @Test
  void engineOfEachKind_isRoutedTo_withTheCachedTokensThatItReports() throws Exception {
    try (SimEngine vllm = engine(EngineApi.VLLM, "kvasir-demo");
        SimEngine sglang = engine(EngineApi.SGLANG, "acme/sglang");
        SimEngine tensorRt = engine(EngineApi.TENSORRT_LLM, "kvasir-demo");
        SimEngine simulator = engine(EngineApi.LLM_D, "acme/simulator");
        SimEngine dynamo = engine(EngineApi.DYNAMO, "acme/dynamo")) {
      List<String> urls =
          Stream.of(vllm, sglang, tensorRt, simulator, dynamo).map(engine -> engine.url().toString()).toList();
      LearntConfiguration learnt = new FleetOptions().learn(urls);
      assertThat(learnt.summary()).hasSize(5);
      try (Node node = TestNodes.start(ConfigFactory.parseString(learnt.text()))) {
        assertCachedAsPromised(node.gatewayUrl(), "kvasir-demo");
        assertCachedAsPromised(node.gatewayUrl(), "acme/sglang");
        assertCachedAsPromised(node.gatewayUrl(), "acme/simulator");
        assertCachedAsPromised(node.gatewayUrl(), "acme/dynamo");
        for (String model : List.of("kvasir-demo", "acme/sglang", "acme/dynamo")) {
          await("the longest prompt of " + model, () -> listed(node, model).path("max_model_len").asInt() > 0);
          assertThat(listed(node, model).path("root").textValue()).isEqualTo(model);
        }
      }
    }
  }

  private static JsonNode listed(Node node, String model) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(TestNodes.gateway(node, "/v1/models/" + model));
    return JSON.readTree(TestNodes.send(request).body());
  }

  /** Tools are printed otherwise than vLLM has them; and nothing but texts is tokenised there. */
  @Test
  void tensorRt_getsItsOwnPreparation_andWithoutFilesOfTheModelThatIsTold() throws Exception {
    try (Node node = TestNodes.start(ConfigFactory.parseString("kvasir.pods = []"));
        SimEngine engine = engine(EngineApi.TENSORRT_LLM, "kvasir-demo");
        SimEngine unknown = engine(EngineApi.TENSORRT_LLM, "acme/tensorrt")) {
      add(node, engine.url());
      URI chats = node.gatewayUrl().resolve("/v1/chat/completions");
      await("its promise", () -> isPromised(post(chats, "kvasir-demo", "messages", TOOLS)));
      HttpResponse<String> answer = post(chats, "kvasir-demo", "messages", TOOLS);
      int tokens = JSON.readTree(answer.body()).at("/usage/prompt_tokens").asInt();
      assertThat(header(answer, "X-Router-Reason")).contains("/" + tokens + ";");
      URI responses = node.gatewayUrl().resolve("/v1/responses");
      HttpResponse<String> response = post(responses, "kvasir-demo", "input", RESPONSES_TOOLS);
      assertThat(header(response, "X-Router-Reason"))
          .contains("/" + JSON.readTree(response.body()).at("/usage/input_tokens").asInt() + ";");
      add(node, unknown.url());
      await("what is not known", () -> TestNodes.manage(node, "/ready").body().contains("acme/tensorrt"));
      assertThat(TestNodes.manage(node, "/ready").body())
          .contains("acme/tensorrt are compared by their text only", "does not tokenise conversations");
    }
  }

  /** It would answer as the base model where an adapter is named by its name alone. */
  @Test
  void adapterOfSglang_isReachedByEveryNameThatItHas_andSharesNothingWithItsBase() throws Exception {
    try (Node node = TestNodes.start(ConfigFactory.parseString("kvasir.pods = []"));
        SimEngine engine =
            SimEngine.start(settings().api(EngineApi.SGLANG).loras(List.of("adapter")).build())) {
      add(node, engine.url());
      await("prompts of its adapter", () -> isCachedAsPromised(node.gatewayUrl(), "adapter"));
      assertThat(cached(adapterRequest(node, "adapter", null, "first"))).isEqualTo(0);
      int held = cached(adapterRequest(node, "adapter", null, "first"));
      assertThat(held).isPositive();
      assertThat(cached(adapterRequest(node, "kvasir-demo:adapter", null, "first"))).isEqualTo(held);
      assertThat(cached(adapterRequest(node, "kvasir-demo", "adapter", "first"))).isEqualTo(held);
      assertThat(cached(adapterRequest(node, "kvasir-demo", null, "first"))).isEqualTo(0);

      HttpResponse<String> unknown = adapterRequest(node, "kvasir-demo:none", null, "first");
      assertThat(unknown.statusCode()).isEqualTo(404);
      assertThat(unknown.body()).contains("kvasir-demo:none");
    }
  }

  private static HttpResponse<String> adapterRequest(
      Node node, String model, @Nullable String adapter, String question) throws Exception {
    ObjectNode body = JSON.createObjectNode().put("model", model).put("max_tokens", 1);
    if (adapter != null) {
      body.put("lora_path", adapter);
    }
    body.putArray("messages").addObject().put("role", "user").put("content", question + GUIDE);
    return TestNodes.send(
        HttpRequest.newBuilder(node.gatewayUrl().resolve("/v1/chat/completions"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body.toString())));
  }

  /** What the engine found, as it was promised. */
  private static int cached(HttpResponse<String> answer) throws Exception {
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    int found = JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    assertThat(header(answer, "X-Router-Reason")).contains("cached=" + found + "/");
    return found;
  }

  private static HttpResponse<String> post(URI url, String model, String member, String tools) throws Exception {
    ObjectNode body = JSON.createObjectNode().put("model", model);
    body.putArray(member).addObject().put("role", "user").put("content", GUIDE);
    body.set("tools", JSON.readTree(tools));
    return TestNodes.send(
        HttpRequest.newBuilder(url)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body.toString())));
  }

  /** Engines that tell neither role nor connector. */
  @Test
  void prefillAndDecodeEngines_needTheirRolesAlone_andWhatTheDefaultsSayIsNotAssumedOtherwise() throws Exception {
    SimSettings.Builder nixl = settings().transfer(TransferSettings.of(TransferDialect.VLLM_NIXL));
    try (SimEngine prefill = SimEngine.start(nixl.role(Role.PREFILL).build());
        SimEngine decode = SimEngine.start(nixl.role(Role.DECODE).build());
        SimEngine added = SimEngine.start(nixl.role(Role.DECODE).build())) {
      Config pods =
          ConfigFactory.parseString(
              "kvasir.pods = [{ url = \"%s\", role = prefill }, { url = \"%s\", role = decode }]"
                  .formatted(prefill.url(), decode.url()));
      Config always =
          ConfigFactory.parseString(
              "kvasir.routing { profile = prefill-decode, profiles.prefill-decode.workflow.remote-prefill = always }");
      try (Node node = TestNodes.start(always.withFallback(pods))) {
        await("prompts that are handed over", () ->
            header(chat(node.gatewayUrl(), "kvasir-demo", "What is open?"), "X-Router-Reason")
                .contains("split=vllm-nixl"));
        assertThat(decode.transferStats().received()).isPositive();
        TestCommand add =
            TestCommand.run(
                "admin", "workers", "add", "--role", "decode", added.url().toString(), "--management",
                node.managementUrl().toString());
        assertThat(add.status()).as(add.err()).isZero();
        assertThat(add.out()).contains("NixlConnector is assumed");
        assertThat(dialect(node, added.url())).isEqualTo("vllm-nixl");
      }
      Config others = ConfigFactory.parseString("kvasir.pod-defaults.kv-transfer.dialect = vllm-mooncake");
      try (Node node = TestNodes.start(others.withFallback(pods))) {
        await("the decode engine", () -> dialect(node, decode.url()).equals("vllm-mooncake"));
      }
    }
  }

  private static String dialect(Node node, URI engine) throws Exception {
    for (JsonNode worker : JSON.readTree(TestNodes.manage(node, "/admin/workers").body()).path("workers")) {
      if (worker.path("url").asText().equals(engine.toString())) {
        return worker.at("/kv_transfer/dialect").asText();
      }
    }
    return "";
  }

  /** The same of a router that runs, without any word about models; then another engine comes behind the address. */
  @Test
  void engineAddedByItsUrl_isRoutedTo_andWhatComesInItsPlaceToo() throws Exception {
    try (Node node = TestNodes.start(ConfigFactory.parseString("kvasir.pods = []"))) {
      URI address;
      try (SimEngine first = SimEngine.start(settings().blockSize(32).build());
          SimEngine sglang = engine(EngineApi.SGLANG, "acme/sglang")) {
        address = first.url();
        JsonNode learnt = add(node, first.url()).path("learnt");
        assertThat(learnt.path("block_size").asInt()).isEqualTo(32);
        assertThat(learnt.path("events").asText()).isEqualTo("zmq");
        await("prompts in its blocks", () -> isCachedAsPromised(node.gatewayUrl(), "kvasir-demo"));
        add(node, sglang.url());
        await("the other's tokens", () -> isCachedAsPromised(node.gatewayUrl(), "acme/sglang"));
      }
      await("the loss", () -> worker(node, address).at("/workers/0/health").asText().equals("unhealthy"));
      try (SimEngine second =
          SimEngine.start(settings().port(address.getPort()).blockSize(64).loras(List.of("adapter")).build())) {
        await("the other engine", () -> worker(node, address).at("/learnt/block_size").asInt() == 64);
        assertThat(worker(node, second.url()).path("history").toString())
            .contains("KV blocks of 32 tokens have 64 now", "adapter");
        await("prompts in other blocks", () -> isCachedAsPromised(node.gatewayUrl(), "kvasir-demo"));
        await("prompts of its adapter", () -> isCachedAsPromised(node.gatewayUrl(), "adapter"));
      }
    }
  }

  /** It has the vocabulary of gpt-oss, which is bundled, and renders no template, so that nothing of it is missing. */
  @Test
  void engineOfGptOss_isPromisedWhatItHolds_withoutTheModelsFiles() throws Exception {
    Path model = Files.createDirectory(directory.resolve("gpt-oss"));
    try (InputStream vocabulary =
        Objects.requireNonNull(Main.class.getResourceAsStream("/models/gpt-oss/o200k_base.tiktoken.gz"))) {
      Files.write(model.resolve("tokenizer.json"), HarmonyVocabulary.tokenizerJson(vocabulary));
    }
    Files.writeString(model.resolve("tokenizer_config.json"), "{\"eos_token\": \"<|return|>\"}");
    Files.writeString(model.resolve("config.json"), "{\"model_type\": \"gpt_oss\"}");
    try (Node node = TestNodes.start(ConfigFactory.parseString("kvasir.pods = []"));
        SimEngine engine = SimEngine.start(settings().model("acme/oss").modelDirectory(model).build())) {
      // As on another machine.
      Files.delete(model.resolve("tokenizer.json"));
      add(node, engine.url());
      await("what its events promise", () -> isCachedAsPromised(node.gatewayUrl(), "acme/oss", GUIDE));
      HttpRequest.Builder metrics = HttpRequest.newBuilder(node.managementUrl().resolve("/metrics"));
      assertThat(TestNodes.send(metrics).body())
          .contains("kvasir_prompts_total{mode=\"exact\",model=\"acme/oss\",why=\"as_configured\"}");
    }
  }

  /** As vLLM with {@code tcp://*:0}: where each rank's events are is only on its page. */
  @Test
  void ranksAtPortsThatTheSystemChose_areEachPromisedWhatTheyHold() throws Exception {
    try (Node node = TestNodes.start(ConfigFactory.parseString("kvasir.pods = []"));
        SimEngine engine =
            SimEngine.start(settings().ranks(2).events(EventSettings.DEFAULT.withScatteredPorts()).build())) {
      JsonNode added = add(node, engine.url());
      assertThat(added.path("workers").asInt()).isEqualTo(2);
      // Prompts that have nothing in common go to the rank that holds less.
      Set<String> ranks = new HashSet<>();
      for (int topic = 0; ranks.size() < 2; topic++) {
        assertThat(topic).as("prompts, all of them to %s", ranks).isLessThan(20);
        String guide = "Guide %d: ".formatted(topic) + GUIDE.repeat(topic % 3 + 1);
        await("what its events promise", () -> isCachedAsPromised(node.gatewayUrl(), "kvasir-demo", guide));
        ranks.add(header(chat(node.gatewayUrl(), "kvasir-demo", guide, "And by night?"), "X-Router-Backend"));
      }
      assertThat(ranks).containsExactlyInAnyOrder(
          engine.url().getAuthority() + "#0", engine.url().getAuthority() + "#1");
    }
  }

  /** As vLLM's frontend in Rust before 0.31: its ranks' ports are what its gRPC says, and nothing else. */
  @Test
  void engineThatTellsItsEventsOverGrpc_isPromisedWhatItHolds_andAskedThereAgain() throws Exception {
    try (Node node = TestNodes.start(ConfigFactory.parseString("kvasir.pods = []"))) {
      URI address;
      int grpcPort;
      try (SimEngine engine =
          SimEngine.start(
              settings().grpcPort(0).ranks(2).events(EventSettings.DEFAULT.withScatteredPorts()).build())) {
        address = engine.url();
        grpcPort = engine.grpcPort();
        JsonNode learnt = add(node, address, grpcPort).path("learnt");
        assertThat(learnt.path("events").asText()).isEqualTo("zmq");
        assertThat(learnt.path("event_endpoints").toString()).contains(engine.eventsEndpoint(1));
        await("what its events promise", () -> isCachedAsPromised(node.gatewayUrl(), "kvasir-demo", GUIDE));
      }
      await("the loss", () -> worker(node, address).at("/workers/0/health").asText().equals("unhealthy"));
      try (SimEngine second =
          SimEngine.start(
              settings().port(address.getPort()).grpcPort(grpcPort).blockSize(64).ranks(2)
                  .events(EventSettings.DEFAULT.withScatteredPorts()).build())) {
        await("the other engine", () -> worker(node, address).at("/learnt/block_size").asInt() == 64);
        assertThat(worker(node, address).at("/learnt/event_endpoints").toString())
            .contains(second.eventsEndpoint(0), second.eventsEndpoint(1));
        await("what its events promise", () -> isCachedAsPromised(node.gatewayUrl(), "kvasir-demo", GUIDE));
      }
    }
  }

  private static JsonNode add(Node node, URI engine, int grpcPort) throws Exception {
    HttpResponse<String> added =
        TestNodes.manage(
            node, "POST", "/admin/workers", "{\"url\": \"%s\", \"grpc_port\": %d}".formatted(engine, grpcPort));
    assertThat(added.statusCode()).as(added.body()).isEqualTo(201);
    return JSON.readTree(added.body());
  }

  private static JsonNode add(Node node, URI engine) throws Exception {
    HttpResponse<String> added =
        TestNodes.manage(node, "POST", "/admin/workers", "{\"url\": \"" + engine + "\"}");
    assertThat(added.statusCode()).as(added.body()).isEqualTo(201);
    return JSON.readTree(added.body());
  }

  private static JsonNode worker(Node node, URI engine) throws Exception {
    return JSON.readTree(TestNodes.manage(node, "/admin/workers/" + engine.getAuthority()).body());
  }

  @Test
  void command_runsWithoutAFile() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().build())) {
      Process serve = start("serve", "--engine", engine.url() + "/v1", "--port", "0", "--management-port", "0");
      try (BufferedReader output = serve.inputReader()) {
        List<String> said = until(output, "gateway at ");
        assertThat(said).anyMatch(line -> line.startsWith("vllm-0: vLLM 0.32.0"))
            .anyMatch(line -> line.contains("cache events at " + engine.eventsEndpoint()));
        URI gateway = URI.create(said.getLast().replaceAll("^gateway at |,.*$", ""));
        assertCachedAsPromised(gateway, "kvasir-demo");
      } finally {
        serve.destroy();
        assertThat(serve.waitFor(60, TimeUnit.SECONDS)).isTrue();
      }
    }
  }

  @Test
  void portThatIsTaken_isTold_withTheOption() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().build());
        ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      TestCommand serve =
          TestCommand.run(
              "serve", "--engine", engine.url().toString(), "--port", String.valueOf(taken.getLocalPort()),
              "--management-port", "0");
      assertThat(serve.status()).isEqualTo(1);
      assertThat(serve.err()).contains(taken.getLocalPort() + ": ", "or --port, to a free one");
    }
  }

  @Test
  void whatDoesNotGoTogether_isTold() {
    TestCommand nothing = TestCommand.run("serve");
    assertThat(nothing.status()).isEqualTo(2);
    assertThat(nothing.err()).contains("--config FILE", "--engine URL", "See: kvasir serve --help");
    TestCommand both = TestCommand.run("serve", "--config", "my.conf", "--engine", "http://127.0.0.1:1");
    assertThat(both.status()).isEqualTo(2);
    assertThat(both.err()).contains("without a file");
    TestCommand port = TestCommand.run("serve", "--config", "my.conf", "--port", "8081");
    assertThat(port.status()).isEqualTo(2);
  }

  /** A request that begins as one before it finds as many of its tokens cached as the router said that it would. */
  private static void assertCachedAsPromised(URI gateway, String model) throws Exception {
    await("a decision by the profile", () ->
        header(chat(gateway, model, "What is open?"), "X-Router-Reason").startsWith("expected-cost"));
    HttpResponse<String> warm = chat(gateway, model, "When does the last ferry leave?");
    assertThat(warm.statusCode()).as(warm.body()).isEqualTo(200);
    int cached = JSON.readTree(warm.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    assertThat(cached).as(warm.body()).isGreaterThan(100);
    assertThat(header(warm, "X-Router-Reason")).contains("cached=" + cached + "/");
  }

  /** Whether that is so already: a model that was added is learnt soon after. */
  private static boolean isCachedAsPromised(URI gateway, String model) throws Exception {
    return isPromised(chat(gateway, model, "When does the last ferry leave?"));
  }

  /** Whether it is by the engine's own word. */
  private static boolean isCachedAsPromised(URI gateway, String model, String guide) throws Exception {
    HttpResponse<String> answer = chat(gateway, model, guide, "When does the last ferry leave?");
    return isPromised(answer) && !header(answer, "X-Router-Reason").contains("predicted=");
  }

  private static boolean isPromised(HttpResponse<String> answer) throws Exception {
    int cached = JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    return cached > 100 && header(answer, "X-Router-Reason").contains("cached=" + cached + "/");
  }

  private static HttpResponse<String> chat(URI gateway, String model, String question) throws Exception {
    return chat(gateway, model, GUIDE, question);
  }

  private static HttpResponse<String> chat(URI gateway, String model, String guide, String question)
      throws Exception {
    String body =
        JSON.createObjectNode()
            .put("model", model)
            .put("max_tokens", 4)
            .set("messages", JSON.createArrayNode()
                .add(JSON.createObjectNode().put("role", "system").put("content", guide))
                .add(JSON.createObjectNode().put("role", "user").put("content", question)))
            .toString();
    return TestNodes.send(
        HttpRequest.newBuilder(gateway.resolve("/v1/chat/completions"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body)));
  }

  private static SimEngine engine(EngineApi api, String model) throws IOException {
    return SimEngine.start(settings().api(api).model(model).build());
  }

  private static SimSettings.Builder settings() {
    return SimSettings.builder()
        .host("127.0.0.1").port(0).speed(100).events(EventSettings.DEFAULT.withLoopback());
  }

  /** Kvasir in a JVM of its own. */
  private Process start(String... arguments) throws IOException {
    List<String> command =
        Stream.concat(
                Stream.of(
                    ProcessHandle.current().info().command().orElse("java"), "-Xmx256m", "-XX:TieredStopAtLevel=1",
                    "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-cp",
                    System.getProperty("java.class.path"), Main.class.getName()),
                Stream.of(arguments))
            .toList();
    return new ProcessBuilder(command).redirectError(directory.resolve("errors").toFile()).start();
  }

  /** The lines up to the one that begins so. */
  private static List<String> until(BufferedReader output, String beginning) throws IOException {
    List<String> lines = new ArrayList<>();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      lines.add(line);
      if (line.startsWith(beginning)) {
        return lines;
      }
    }
    throw new IOException("it ended after " + lines);
  }
}
