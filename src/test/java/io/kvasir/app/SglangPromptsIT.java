package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.sim.EngineApi;
import io.kvasir.sim.EventSettings;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.SimSettings;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import java.io.IOException;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Conversations of which SGLang makes another prompt than vLLM: what a node promises of them, its engine finds. */
final class SglangPromptsIT {
  private static final String MODEL = "kvasir-demo";
  private static final String LONG = "A fox that has eaten goes home and sleeps until it rains. ".repeat(12);
  private static final String CHAT = "/v1/chat/completions";
  private static final String TOOLS = """
      [{"type": "function", "function": {"description": "Looks up a word.", "name": "look_up",
        "parameters": {"type": "object", "properties": {"word": {"type": "varchar"}}}}}]""";
  private static final ObjectMapper JSON = new ObjectMapper();

  private static SimEngine engine;
  private static Node node;

  @BeforeAll
  static void start() throws Exception {
    engine =
        SimEngine.start(
            SimSettings.builder()
                .host("127.0.0.1").port(0).model(MODEL).speed(20).blockSize(16).capacityBlocks(20_000)
                .maxModelLen(8192).api(EngineApi.SGLANG)
                .events(EventSettings.DEFAULT.withLoopback().withFormat(new EventFormat(Encoding.SGLANG, false, false)))
                .build());
    node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %1$s, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [{ name = sim, url = "%2$s", models = [%1$s], block-size = 16,
                        events { endpoint = "%3$s", replay = "%4$s" } }]
            }
            """.formatted(MODEL, engine.url(), engine.eventsEndpoint(), engine.replayEndpoint()));
    await(() -> DemoCommand.healthy(node) == 1);
    String probe = "\"tools\": %s, \"messages\": [{\"role\": \"user\", \"content\": \"?\"}]".formatted(TOOLS);
    await("the node to know what engine it is", () -> {
      Answer answer = ask(CHAT, probe);
      return answer.promptTokens() == answer.counted();
    });
  }

  @AfterAll
  static void stop() {
    node.close();
    engine.close();
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
      """)
  void whatIsPromised_isFound(String name, String path, String members) throws IOException {
    String body = members.replace("$TOOLS", TOOLS).replace("$LONG", LONG);
    Answer first = ask(path, body);
    assertThat(first.promptTokens()).as(name).isEqualTo(first.counted());
    await(() -> node.fleet().workers().stream().allMatch(worker -> worker.index().predictedBlocks() == 0));
    Answer second = ask(path, body);
    assertThat(second.promised()).as(name).isEqualTo(second.found()).isGreaterThan(100);
  }

  /**
   * An answer.
   *
   * @param promptTokens by which it was routed
   * @param counted by the engine
   */
  private record Answer(int promised, int promptTokens, int found, int counted) {}

  private static Answer ask(String path, String members) throws IOException {
    String body = "{\"model\": \"%s\", \"max_tokens\": 1, %s}".formatted(MODEL, members);
    HttpResponse<String> answer = TestNodes.postAsync(node, path, body).join();
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    String[] cached = header(answer, "X-Router-Reason").replaceFirst(".*cached=([0-9/]+).*", "$1").split("/", -1);
    JsonNode usage = JSON.readTree(answer.body()).path("usage");
    boolean messages = path.equals("/v1/messages");
    int found = messages ? usage.path("cache_read_input_tokens").asInt()
        : usage.at("/prompt_tokens_details/cached_tokens").asInt();
    int counted = messages ? found + usage.path("input_tokens").asInt() : usage.path("prompt_tokens").asInt();
    return new Answer(Integer.parseInt(cached[0]), Integer.parseInt(cached[1]), found, counted);
  }
}
