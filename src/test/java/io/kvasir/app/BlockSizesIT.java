package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a node promises of engines of one model whose blocks are of several sizes, beside what they find. */
final class BlockSizesIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern PROMISED = Pattern.compile("cached=(\\d+)/");
  private static final int[] BASE = IntStream.range(1000, 1320).toArray();

  /** The engine's blocks are several of the model's, which the configuration does not say. */
  @ParameterizedTest
  @CsvSource({"VLLM_MAP, NONE, 64", "SGLANG, NONE, 32", "VLLM_MAP, RECOMPUTES_LAST_BLOCK, 48"})
  void whatIsPromisedOfLargerBlocks_isFound(Encoding encoding, Speculation speculation, int size) throws Exception {
    try (SimEngine engine = engine(encoding, speculation, size); Node node = node(Map.of("large", engine))) {
      for (int i = 0; i < (speculation == Speculation.NONE ? 1 : 5); i++) {
        Hit _ = ask(node, BASE);
        // What came first was stored before it was known how prompts are cut.
        await(() -> parts(node, "large") == size / 16);
      }
      for (int shared : new int[] {320, 288, 257, 256, 255, 192, 193, 144, 129, 128, 127, 96, 64, 63, 48, 17, 16}) {
        int[] other = IntStream.concat(Arrays.stream(BASE, 0, shared), IntStream.range(2000 + shared, 2400)).toArray();
        for (int length : new int[] {shared + 64 - shared % 16, shared + 9, shared + 1, shared}) {
          Hit hit = ask(node, Arrays.copyOf(other, length));
          assertThat(hit.promised()).as("%d tokens shared, %d in all", shared, length).isEqualTo(hit.found());
        }
      }
      assertThat(ask(node, BASE).found()).as("hits").isGreaterThan(200);
      assertThat(node.fleet().workers())
          .allSatisfy(worker -> assertThat(worker.index().blockSize()).isEqualTo(size));
    }
  }

  /** The engine says at once which blocks it has, its events not until it has stored one. */
  @Test
  void beforeAnyEvent_whatIsPromisedIsOfTheBlocksThatTheEngineSaysToHave() throws Exception {
    try (SimEngine engine = engine(Encoding.VLLM_MAP, Speculation.NONE, 64);
        Node node = node(Map.of("silent", engine))) {
      engine.setCondition(EngineCondition.SILENT, true);
      AtomicInteger tries = new AtomicInteger();
      await("the engine to be asked", () -> {
        int first = 20_000 + 400 * tries.getAndIncrement();
        Hit _ = ask(node, IntStream.range(first, first + 300).toArray());
        Hit hit = ask(node, IntStream.range(first, first + 340).toArray());
        assertThat(hit.found()).isEqualTo(256);
        return hit.promised() == 256;
      });
    }
  }

  /** Each is promised what it finds in its own blocks, and the one that will find most of a prompt gets it. */
  @Test
  void enginesOfSeveralSizes_areOneFleet() throws Exception {
    try (SimEngine small = engine(Encoding.VLLM_MAP, Speculation.NONE, 16);
        SimEngine large = engine(Encoding.VLLM_MAP, Speculation.NONE, 64);
        SimEngine larger = engine(Encoding.SGLANG, Speculation.NONE, 128);
        Node node = node(Map.of("small", small, "large", large, "larger", larger))) {
      Map<String, Integer> served = new HashMap<>();
      int started = 0;
      while (parts(node, "large") != 4 || parts(node, "larger") != 8) {
        // Each shows its size with the first block that it stores, and the first prompts show how they are cut.
        int first = 20_000 + 200 * started++;
        Hit _ = ask(node, IntStream.range(first, first + 200).toArray());
      }
      // Which one gets a prompt that none has is up to chance: of so many each gets some.
      int families = 36;
      for (int i = 0; i < 3 * families; i++) {
        int family = i % families;
        int[] prompt = IntStream.range(0, 200 + 13 * (i / families)).map(at -> 3000 + 400 * family + at).toArray();
        Hit hit = ask(node, prompt);
        assertThat(hit.promised()).as("turn %d, at %s", i, hit.backend()).isEqualTo(hit.found());
        served.merge(hit.backend(), hit.found() > 0 ? 1 : 0, Integer::sum);
      }
      assertThat(served).hasSize(3).allSatisfy((_, hits) -> assertThat(hits).isPositive());
    }
  }

  /** One with smaller blocks comes later, by its address alone: prompts are cut as it has them from then on. */
  @Test
  void smallerBlocksThatComeLater_areThoseOfAll() throws Exception {
    try (SimEngine large = engine(Encoding.VLLM_MAP, Speculation.NONE, 64);
        SimEngine small = engine(Encoding.SGLANG, Speculation.NONE, 16);
        Node node = TestNodes.start(ConfigFactory.parseString("kvasir.pods = []"))) {
      add(node, large);
      await("prompts in its blocks", () -> ask(node, BASE).promised() == 256);
      add(node, small);
      await("the same in parts of them", () -> {
        Hit hit = ask(node, BASE);
        return hit.promised() == hit.found() && parts(node, large.url().getAuthority()) == 4;
      });
      for (int i = 0; i < 30; i++) {
        int family = i % 6;
        Hit hit = ask(node, IntStream.range(0, 200 + 13 * (i / 6)).map(at -> 3000 + 400 * family + at).toArray());
        assertThat(hit.promised()).as("turn %d, at %s", i, hit.backend()).isEqualTo(hit.found());
      }
    }
  }

  /** What its windows need is known at the ends of its own blocks only. */
  @Test
  void hybridEngineWithLargerBlocks_isNamed() throws Exception {
    try (SimEngine engine =
            SimEngine.start(
                settings(Encoding.VLLM_MAP, Speculation.NONE, 64).groups(List.of(CacheGroup.parse("window=256")))
                    .build());
        Node node = node(Map.of("hybrid", engine))) {
      await("the remark", () -> {
        Hit _ = ask(node, BASE);
        return TestNodes.manage(node, "/ready").body().contains("worker hybrid: its blocks have 64 tokens and cannot");
      });
      assertThat(parts(node, "hybrid")).isEqualTo(1);
    }
  }

  private static void add(Node node, SimEngine engine) throws Exception {
    HttpResponse<String> added =
        TestNodes.manage(node, "POST", "/admin/workers", "{\"url\": \"" + engine.url() + "\"}");
    assertThat(added.statusCode()).as(added.body()).isEqualTo(201);
  }

  private static int parts(Node node, String pod) {
    return node.fleet().workers().stream()
        .filter(worker -> worker.worker().pod().equals(pod))
        .mapToInt(worker -> worker.index().parts())
        .sum();
  }

  private record Hit(String backend, int promised, int found) {}

  private static Hit ask(Node node, int[] prompt) throws IOException {
    String body = "{\"model\": \"%s\", \"max_tokens\": 1, \"prompt\": %s}".formatted(MODEL, Arrays.toString(prompt));
    HttpResponse<String> answer = TestNodes.postAsync(node, "/v1/completions", body).join();
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    Matcher promised = PROMISED.matcher(header(answer, "X-Router-Reason"));
    return new Hit(
        header(answer, "X-Router-Backend"),
        promised.find() ? Integer.parseInt(promised.group(1)) : -1,
        JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt());
  }

  private static SimEngine engine(Encoding encoding, Speculation speculation, int blockSize) throws IOException {
    return SimEngine.start(settings(encoding, speculation, blockSize).build());
  }

  private static SimSettings.Builder settings(Encoding encoding, Speculation speculation, int blockSize) {
    return SimSettings.builder()
        .host("127.0.0.1").port(0).model(MODEL).speed(20).blockSize(blockSize).capacityBlocks(20_000)
        .maxModelLen(8192)
        .api(encoding == Encoding.SGLANG ? EngineApi.SGLANG : EngineApi.VLLM)
        .speculation(speculation)
        .events(EventSettings.DEFAULT.withLoopback().withFormat(new EventFormat(encoding, false, false)));
  }

  private static Node node(Map<String, SimEngine> engines) throws Exception {
    StringBuilder pods = new StringBuilder();
    engines.forEach(
        (name, engine) ->
            pods.append(
                """
                { name = %s, url = "%s", models = [%s], events { endpoint = "%s", replay = "%s" } },
                """.formatted(name, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint())));
    Node node = TestNodes.start(
        """
        kvasir {
          models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
          pods = [%s]
        }
        """.formatted(MODEL, pods));
    await(() -> DemoCommand.healthy(node) == engines.size());
    return node;
  }
}
