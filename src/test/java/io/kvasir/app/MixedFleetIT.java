package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Engines of one model that make different prompts of the same conversation, two vLLM and an SGLang: whichever of them
 * a request goes to, what the node promises of it that engine finds.
 */
final class MixedFleetIT {
  private static final String MODEL = "kvasir-demo";
  private static final String LONG = "A fox that has eaten goes home and sleeps until it rains. ".repeat(12);
  private static final String CHAT = "/v1/chat/completions";
  private static final String TOOLS = """
      [{"type": "function", "function": {"description": "Looks up a word.", "name": "look_up",
        "parameters": {"type": "object", "properties": {"word": {"type": "varchar"}}}}}]""";
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final List<SimEngine> ENGINES = new ArrayList<>();
  private static Node node;

  @BeforeAll
  static void start() throws Exception {
    for (EngineApi api : List.of(EngineApi.VLLM, EngineApi.SGLANG, EngineApi.VLLM)) {
      ENGINES.add(engine(api));
    }
    node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [%s]
              routing.profile = chosen
              routing.profiles.chosen {
                description = "a worker that the client names"
                prepare = [ tokenize, block-hash, client-wishes ]
                filter = [ role, model, excluded, concurrency-limit, { plugin = allow-list, from-client = true } ]
                score = [ expected-cost ]
                pick = max-score
                execute = forward
              }
            }
            """.formatted(
                MODEL, IntStream.range(0, ENGINES.size()).mapToObj(MixedFleetIT::pod).collect(joining(",\n"))));
    await(() -> DemoCommand.healthy(node) == ENGINES.size());
    String probe = "\"tools\": %s, \"messages\": [{\"role\": \"user\", \"content\": \"?\"}]".formatted(TOOLS);
    await("the node to know what engines they are", () -> {
      Answer answer = ask(CHAT, probe, "sim-1");
      return answer.promptTokens() == answer.counted();
    });
  }

  private static SimEngine engine(EngineApi api) throws IOException {
    Encoding encoding = api == EngineApi.SGLANG ? Encoding.SGLANG : EventSettings.DEFAULT.format().encoding();
    return SimEngine.start(
        SimSettings.builder()
            .host("127.0.0.1").port(0).model(MODEL).speed(20).blockSize(16).capacityBlocks(20_000)
            .maxModelLen(8192).api(api)
            .events(EventSettings.DEFAULT.withLoopback().withFormat(new EventFormat(encoding, false, false)))
            .build());
  }

  private static String pod(int number) {
    SimEngine engine = ENGINES.get(number);
    return """
        { name = "sim-%d", url = "%s", models = [%s], block-size = 16,
          events { endpoint = "%s", replay = "%s" } }""".formatted(
        number, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint());
  }

  @AfterAll
  static void stop() {
    node.close();
    ENGINES.forEach(SimEngine::close);
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
      tools           | /v1/chat/completions | "tools": $TOOLS, "messages": [{"role": "user", "content": "a $LONG"}]
      parts           | /v1/chat/completions | "messages": [{"role": "user", "content": [\
      {"type": "text", "text": "b $LONG"}, {"type": "text", "text": "$LONG"}]}]
      a tool's result | /v1/chat/completions | "tools": $TOOLS, "messages": [{"role": "user", "content": "c $LONG"}, \
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", \
      "function": {"name": "look_up", "arguments": "{\\"word\\": \\"fox\\"}"}}]}, \
      {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}]
      a last answer   | /v1/chat/completions | "messages": [{"role": "user", "content": "d"}, \
      {"role": "assistant", "content": "$LONG"}]
      system parts    | /v1/messages | "system": [{"type": "text", "text": "e $LONG"}, \
      {"type": "text", "text": "$LONG"}], "messages": [{"role": "user", "content": "?"}]
      Claude's tools  | /v1/messages | "system": "f $LONG", "tools": [{"name": "look_up", "input_schema": {}}], \
      "messages": [{"role": "user", "content": "?"}]
      items           | /v1/responses | "instructions": "h $LONG", "input": [\
      {"role": "developer", "content": "$LONG"}, \
      {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}]
      """)
  void whatIsPromised_isFound(String name, String path, String members) throws IOException {
    String body = members.replace("$TOOLS", TOOLS).replace("$LONG", LONG);
    for (String worker : List.of("sim-1", "sim-2")) {
      Answer first = ask(path, body, worker);
      assertThat(first.promptTokens()).as("%s at %s", name, worker).isEqualTo(first.counted());
      await(() -> node.fleet().workers().stream().allMatch(each -> each.index().predictedBlocks() == 0));
      Answer second = ask(path, body, worker);
      // vLLM's usage of /v1/messages does not tell what was cached.
      boolean silent = path.equals("/v1/messages") && worker.equals("sim-2");
      assertThat(second.promised()).as("%s at %s", name, worker).isGreaterThan(100)
          .isEqualTo(silent ? second.promised() : second.found());
    }
  }

  /** Between the first request and its blocks' events, what was predicted counts. */
  @Test
  void whatWasSentAMomentAgo_isPromisedByTheChainOfItsEngine() throws IOException {
    String body = "\"tools\": %s, \"messages\": [{\"role\": \"user\", \"content\": \"g %s\"}]".formatted(TOOLS, LONG);
    List<Answer> answers = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      answers.add(ask(CHAT, body, i % 2 == 0 ? "sim-0" : "sim-1"));
    }
    assertThat(answers).allSatisfy(answer -> assertThat(answer.promised()).isEqualTo(answer.found()));
    assertThat(answers.subList(2, 8)).allSatisfy(answer -> assertThat(answer.found()).isGreaterThan(100));
  }

  /**
   * An answer.
   *
   * @param promptTokens by which it was routed
   * @param counted by the engine
   */
  private record Answer(int promised, int promptTokens, int found, int counted) {}

  private static Answer ask(String path, String members, String worker) throws IOException {
    String body = "{\"model\": \"%s\", \"max_tokens\": 1, \"max_output_tokens\": 1, %s}".formatted(MODEL, members);
    HttpResponse<String> answer = TestNodes.postAsync(node, path, body, "X-Router-Allow", worker).join();
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    String[] cached = header(answer, "X-Router-Reason").replaceFirst(".*cached=([0-9/]+).*", "$1").split("/", -1);
    JsonNode usage = JSON.readTree(answer.body()).path("usage");
    assertThat(header(answer, "X-Router-Backend")).isEqualTo(worker);
    int found = switch (path) {
      case "/v1/messages" -> usage.path("cache_read_input_tokens").asInt();
      case "/v1/responses" -> usage.at("/input_tokens_details/cached_tokens").asInt();
      default -> usage.at("/prompt_tokens_details/cached_tokens").asInt();
    };
    int counted = switch (path) {
      case "/v1/messages" -> found + usage.path("input_tokens").asInt();
      case "/v1/responses" -> usage.path("input_tokens").asInt();
      default -> usage.path("prompt_tokens").asInt();
    };
    return new Answer(Integer.parseInt(cached[0]), Integer.parseInt(cached[1]), found, counted);
  }
}
