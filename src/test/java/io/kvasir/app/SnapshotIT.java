package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.cell.EventMode;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Nodes that find an engine which has been busy for long and keeps few of its events. One node has listened from the
 * beginning: what it knows is what the engine holds.
 */
final class SnapshotIT {
  private static final String MODEL = "kvasir-demo";
  private static final int PROMPTS = 40;
  private static final int KEPT_BATCHES = 4;
  private static final int CAPACITY_BLOCKS = 1200;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<AutoCloseable> opened = new ArrayList<>();

  @AfterEach
  void stop() throws Exception {
    for (AutoCloseable closeable : opened.reversed()) {
      closeable.close();
    }
  }

  @Test
  void lateNode_withSnapshots_knowsAllThatTheEngineHolds() throws Exception {
    SimEngine engine = engine(true);
    Node early = node(engine, "none");
    fill(early);

    Node late = node(engine, "vllm-50134");
    awaitAgreement(late, early);
    assertThat(TestNodes.manage(late, "/metrics").body())
        .contains("kvasir_events_snapshots_total{result=\"read\",source=\"zmq\"} 1.0");

    for (int i = PROMPTS - 1; i >= 0; i--) {
      HttpResponse<String> answer = ask(late, i);
      int cached = JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
      assertThat(header(answer, "X-Router-Reason")).as("prompt %d", i).contains("cached=" + cached + "/");
    }
    awaitAgreement(late, early);

    engine.restart();
    await(() -> DemoCommand.healthy(late) == 1);
    for (int i = 0; i < 3; i++) {
      ask(late, i);
    }
    // The node without snapshots may have found the new process too late to read all it had said.
    Node last = node(engine, "vllm-50134");
    awaitAgreement(late, last);
    assertThat(blocks(late)).isPositive();
  }

  @Test
  void lateNode_withoutSnapshots_knowsAPart_andSaysSo() throws Exception {
    SimEngine engine = engine(true);
    Node early = node(engine, "none");
    fill(early);

    Node late = node(engine, "none");
    await(() -> EventMode.of(worker(late)) == EventMode.SUSPECT);
    assertThat(blocks(late)).isLessThan(blocks(early) / 2);
  }

  @Test
  void lateNode_engineThatDoesNotKnowThem_knowsAPart_andSaysWhy() throws Exception {
    SimEngine engine = engine(false);
    Node early = node(engine, "none");
    fill(early);

    Node late = node(engine, "vllm-50134");
    await(() -> EventMode.of(worker(late)) == EventMode.SUSPECT);
    assertThat(blocks(late)).isLessThan(blocks(early) / 2);
    JsonNode sources = JSON.readTree(TestNodes.manage(late, "/admin/sources").body());
    assertThat(sources.toString()).contains("suspect");
    assertThat(TestNodes.manage(late, "/metrics").body())
        .contains("kvasir_events_snapshots_total{result=\"unknown\",source=\"zmq\"} 1.0");
  }

  /** More than the engine has room for, so that much of it is gone again. */
  private static void fill(Node node) throws Exception {
    for (int i = 0; i < PROMPTS; i++) {
      assertThat(ask(node, i).statusCode()).isEqualTo(200);
    }
    // Events come after answers.
    await(() -> blocks(node) >= CAPACITY_BLOCKS / 2);
    assertThat(worker(node).events().gaps()).isZero();
    assertThat(blocks(node)).isLessThanOrEqualTo(CAPACITY_BLOCKS);
  }

  private static void awaitAgreement(Node late, Node early) {
    await(() -> EventMode.of(worker(late)) == EventMode.LIVE && blocks(late) == blocks(early));
  }

  private static int blocks(Node node) {
    return worker(node).index().blocks();
  }

  private static WorkerStatus worker(Node node) {
    return node.fleet().workers().getFirst();
  }

  private SimEngine engine(boolean snapshots) throws IOException {
    SimEngine engine =
        SimEngine.start(
            SimSettings.builder().host("127.0.0.1").port(0).model(MODEL).speed(50).capacityBlocks(CAPACITY_BLOCKS)
                .events(EventSettings.DEFAULT.withLoopback().withHistory(KEPT_BATCHES, snapshots)).build());
    opened.add(engine);
    return engine;
  }

  private Node node(SimEngine engine, String snapshot) throws Exception {
    Node node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [{ name = sim, url = "%s", models = [%s]
                events { endpoint = "%s", replay = "%s", snapshot = %s } }]
            }
            """
                .formatted(
                    MODEL, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint(), snapshot));
    opened.add(node);
    // What is published before is not for it, and the engine keeps little of that.
    await(() -> DemoCommand.healthy(node) == 1 && worker(node).events().connected());
    return node;
  }

  private static HttpResponse<String> ask(Node node, int prompt) throws Exception {
    return TestNodes.post(
        node, "/v1/chat/completions",
        """
        {"model": "%s", "max_tokens": 20, "messages": [
          {"role": "system", "content": "%s"}, {"role": "user", "content": "What is cached?"}]}
        """
            .formatted(MODEL, words(prompt, 400)));
  }
}
