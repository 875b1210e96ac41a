package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A program that waits for its tool while an engine of SGLang's kind, with a cache too small for all, serves prompts
 * that nobody comes back to: from its address alone, at either of two nodes.
 */
final class RetentionIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<Node> nodes = new ArrayList<>();
  private final List<SimEngine> engines = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
    engines.forEach(SimEngine::close);
  }

  @Test
  void programsPrompt_staysWhileItIsExpectedBack_whicheverNodeItAsks() throws Exception {
    start(2, true, "1 h");
    int cached = turn(0, "7", "");
    assertThat(cached).isZero();
    int other = turn(0, "", "");
    assertThat(other).as("the same prompt, of nobody").isPositive();
    oneOffs(0);

    int back = turn(1, "7", "");
    assertThat(back).isGreaterThan(1_000);
    assertThat(sum("kvasir_programs_retained")).isOne();

    oneOffs(1);
    assertThat(turn(0, "7", "X-Dynamo-Session-Final")).as("its last turn").isEqualTo(back);
    await("the release", () -> sum("kvasir_program_releases_total{result=\"done\"}") == 1);
    assertThat(sum("kvasir_programs_retained")).isZero();
    oneOffs(0);
    assertThat(turn(0, "", "")).isZero();
  }

  @Test
  void programThatIsQuietForTooLong_isNotKept() throws Exception {
    start(1, true, "1 s");
    turn(0, "7", "");
    await("the release", () -> sum("kvasir_program_releases_total{result=\"done\"}") == 1);
    oneOffs(0);
    assertThat(turn(0, "7", "")).isZero();
  }

  @Test
  void engineWithoutSessions_isToldNothing() throws Exception {
    start(1, false, "1 h");
    turn(0, "7", "");
    oneOffs(0);
    assertThat(turn(0, "7", "X-Dynamo-Session-Final")).isZero();
    assertThat(sum("kvasir_programs_retained")).isZero();
    assertThat(sum("kvasir_program_releases_total")).isZero();
  }

  /** More than the engine has room for. */
  private void oneOffs(int node) throws Exception {
    for (int i = 0; i < 8; i++) {
      assertThat(chat(node, words(100 + i, 900), "", "").statusCode()).isEqualTo(200);
    }
    // Of a full engine the router leaves out what those on their way may evict, which this one does not of a program.
    settled();
  }

  /** Whatever was predicted has been told by events. */
  private void settled() throws Exception {
    await(() -> sum("kvasir_worker_in_flight{") == 0 && sum("kvasir_worker_predicted_blocks{") == 0);
  }

  /** A turn of a program, none with an empty name; returns how many tokens of its prompt were cached, as predicted. */
  private int turn(int node, String program, String last) throws Exception {
    HttpResponse<String> answer = chat(node, words(1, 1_500), program, last);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    int cached = JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    assertThat(header(answer, "X-Router-Reason")).contains("cached=" + cached + "/");
    settled();
    return cached;
  }

  private HttpResponse<String> chat(int node, String text, String program, String last) throws Exception {
    List<String> headers = new ArrayList<>();
    if (!program.isEmpty()) {
      headers.addAll(List.of("X-Session-ID", program));
    }
    if (!last.isEmpty()) {
      headers.addAll(List.of(last, "true"));
    }
    return TestNodes.post(
        nodes.get(node),
        "/v1/chat/completions",
        """
        {"model": "%s", "max_tokens": 2, "messages": [{"role": "user", "content": "%s"}]}
        """.formatted(MODEL, text),
        headers.toArray(String[]::new));
  }

  /** The sum of the samples of both nodes whose lines begin so: one of them is the cell's home. */
  private double sum(String start) throws Exception {
    double sum = 0;
    for (Node node : nodes) {
      sum += TestNodes.manage(node, "/metrics").body().lines()
          .filter(line -> line.startsWith(start))
          .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
          .sum();
    }
    return sum;
  }

  private void start(int count, boolean sessions, String alive) throws Exception {
    EventFormat format = new EventFormat(EventFormat.Encoding.SGLANG, false, false);
    SimEngine engine =
        SimEngine.start(
            SimSettings.builder()
                .host("127.0.0.1").port(0).model(MODEL).speed(0).capacityBlocks(256).api(EngineApi.SGLANG)
                .sessions(sessions)
                .events(EventSettings.DEFAULT.withLoopback().withFormat(format))
                .build());
    engines.add(engine);
    List<Integer> ports = List.of(Ports.free(), Ports.free()).subList(0, count);
    for (int own : ports) {
      nodes.add(
          TestNodes.start(
              """
              kvasir {
                models = [{ name = %s, directory = "bundled:kvasir-demo" }]
                pods = [{ url = "%s" }]
                programs { enabled = true, alive = %s }
                cluster { seed-nodes = ["127.0.0.1:%d"], port = %d }
              }
              """.formatted(MODEL, engine.url(), alive, ports.getFirst(), own)));
    }
    await(() -> nodes.stream().allMatch(node -> TestNodes.serves(node, 1)));
  }
}
