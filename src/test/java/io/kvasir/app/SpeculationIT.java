package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a node promises of engines that draft with EAGLE or MTP, beside what they find. */
final class SpeculationIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Prompts of token ids, which part within a block, where one ends, and where they themselves end. */
  @ParameterizedTest
  @CsvSource({
    "VLLM_MAP, RECOMPUTES_LAST_BLOCK, 16", "VLLM_MAP, LOOKAHEAD, 16", "SGLANG, LOOKAHEAD, 16", "SGLANG, LOOKAHEAD, 1"
  })
  void whatIsPromised_isFound(Encoding encoding, Speculation speculation, int blockSize) throws Exception {
    try (SimEngine engine = engine(encoding, speculation, blockSize); Node node = node(engine, blockSize)) {
      int[] base = IntStream.range(1000, 1160).toArray();
      // The last block's fate is learnt from answers.
      for (int i = 0; i < (speculation == Speculation.RECOMPUTES_LAST_BLOCK ? 4 : 1); i++) {
        Hit _ = ask(node, base);
      }
      for (int shared : new int[] {160, 129, 128, 127, 112, 17, 16}) {
        int[] other = IntStream.concat(Arrays.stream(base, 0, shared), IntStream.range(2000 + shared, 2040)).toArray();
        for (int length : new int[] {shared + 40 - shared % 16, shared + 9, shared + 2, shared + 1, shared}) {
          int[] prompt = Arrays.copyOf(other, Math.min(other.length, length));
          Hit hit = ask(node, prompt);
          assertThat(hit.promised()).as("%d tokens shared, %d in all", shared, prompt.length).isEqualTo(hit.found());
        }
      }
      assertThat(ask(node, base).found()).as("hits").isGreaterThan(100);
      assertThat(node.fleet().workers())
          .allSatisfy(worker -> assertThat(worker.index().speculation()).hasToString(speculation.name()));
    }
  }

  private record Hit(int promised, int found) {}

  private static Hit ask(Node node, int[] prompt) throws IOException {
    String body = "{\"model\": \"%s\", \"max_tokens\": 1, \"prompt\": %s}".formatted(MODEL, Arrays.toString(prompt));
    HttpResponse<String> answer = TestNodes.postAsync(node, "/v1/completions", body).join();
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    await(() -> node.fleet().workers().stream().allMatch(worker -> worker.index().predictedBlocks() == 0));
    String reason = header(answer, "X-Router-Reason");
    int from = reason.indexOf("cached=") + "cached=".length();
    return new Hit(
        Integer.parseInt(reason, from, reason.indexOf('/', from), 10),
        JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt());
  }

  private static SimEngine engine(Encoding encoding, Speculation speculation, int blockSize) throws IOException {
    return SimEngine.start(
        SimSettings.builder()
            .host("127.0.0.1").port(0).model(MODEL).speed(20).blockSize(blockSize).capacityBlocks(20_000)
            .maxModelLen(8192)
            .api(encoding == Encoding.SGLANG ? EngineApi.SGLANG : EngineApi.VLLM)
            .speculation(speculation)
            .events(EventSettings.DEFAULT.withLoopback().withFormat(new EventFormat(encoding, false, false)))
            .build());
  }

  private static Node node(SimEngine engine, int blockSize) throws Exception {
    Node node = TestNodes.start(
        """
        kvasir {
          models = [{ name = %1$s, directory = "bundled:kvasir-demo", block-size = %2$d }]
          pods = [{ name = sim, url = "%3$s", models = [%1$s], block-size = %2$d,
                    events { endpoint = "%4$s", replay = "%5$s" } }]
        }
        """.formatted(MODEL, blockSize, engine.url(), engine.eventsEndpoint(), engine.replayEndpoint()));
    await(() -> DemoCommand.healthy(node) == 1);
    return node;
  }
}
