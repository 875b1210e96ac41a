package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.sim.EventSettings;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two engines that pull from each other, of which one is full when what it has cached is asked for. */
final class PullIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int NOWHERE = 1;

  private final List<SimEngine> engines = new ArrayList<>();

  @SuppressWarnings("NullAway.Init") // every test begins with start()
  private Node node;

  @AfterEach
  void stop() {
    node.close();
    engines.forEach(SimEngine::close);
  }

  @Test
  void fullWorkersPrefix_isPulledByAnother_whichFindsWhatWasPromised() throws Exception {
    start(0);

    HttpResponse<String> pulled = chatWhileItsWorkerIsFull();

    int cached = JSON.readTree(pulled.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
    assertThat(cached).isGreaterThan(2_000);
    assertThat(header(pulled, "X-Router-Reason"))
        .contains("depth=0/", "cached=" + cached + "/", "pull=" + cached + "@");
    assertThat(metric("kvasir_worker_pulled_tokens_total", "found")).isEqualTo(cached);
    assertThat(metric("kvasir_worker_pulled_tokens_total", "missing")).isZero();
  }

  @Test
  void peerThatCannotBeReached_costsThePromptsComputing_andIsNoted() throws Exception {
    start(NOWHERE);

    HttpResponse<String> computed = chatWhileItsWorkerIsFull();

    assertThat(JSON.readTree(computed.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt()).isZero();
    assertThat(header(computed, "X-Router-Reason")).contains("pull=");
    assertThat(metric("kvasir_worker_pulled_tokens_total", "found")).isZero();
    assertThat(metric("kvasir_worker_pulled_tokens_total", "missing")).isGreaterThan(2_000);
  }

  /** A prompt that begins like one that a worker has cached, while that worker has no place. */
  private HttpResponse<String> chatWhileItsWorkerIsFull() throws Exception {
    String system = words(1, 3_000);
    HttpResponse<String> first = chat(system, "one", 1).join();
    assertThat(first.statusCode()).as(first.body()).isEqualTo(200);
    await(() -> node.cells().describeWorkers().stream().anyMatch(worker -> worker.index().blocks() > 100));
    await(() -> node.cells().describeWorkers().stream().allMatch(worker -> worker.index().predictedBlocks() == 0));
    CompletableFuture<HttpResponse<String>> longOne = chat(system, "two", 3_000);
    await(() -> node.cells().describeWorkers().stream().anyMatch(worker -> worker.load().inFlight() == 1));

    HttpResponse<String> other = chat(system, "three", 1).join();

    assertThat(longOne).isNotDone();
    assertThat(other.statusCode()).as(other.body()).isEqualTo(200);
    assertThat(header(other, "X-Router-Backend")).isNotEqualTo(header(first, "X-Router-Backend"));
    longOne.cancel(true);
    return other;
  }

  private CompletableFuture<HttpResponse<String>> chat(String system, String user, int tokens) throws Exception {
    return TestNodes.postAsync(
        node,
        "/v1/chat/completions",
        """
        {"model": "%s", "max_tokens": %d, "ignore_eos": true, "messages": [
          {"role": "system", "content": "%s"}, {"role": "user", "content": "%s"}]}
        """.formatted(MODEL, tokens, system, user));
  }

  private double metric(String name, String result) throws Exception {
    return TestNodes.manage(node, "/metrics").body().lines()
        .filter(line -> line.startsWith(name) && line.contains("result=\"" + result + "\""))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  private void start(int port) throws Exception {
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < 2; i++) {
      SimEngine engine =
          SimEngine.start(
              SimSettings.builder()
                  .host("127.0.0.1").port(0).model(MODEL).speed(5).seed(0)
                  .transfer(TransferSettings.of(TransferDialect.VLLM_P2P))
                  .events(EventSettings.DEFAULT.withLoopback())
                  .build());
      engines.add(engine);
      pods.append(
          """
          {
            name = sim-%d, url = "%s", models = [%s], max-in-flight = 1
            events { endpoint = "%s", replay = "%s" }
            kv-transfer { dialect = vllm-p2p, bootstrap-port = %d }
          }
          """.formatted(
              i, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint(),
              port == 0 ? engine.transferPort() : port));
    }
    node =
        TestNodes.start(
            "kvasir { models = [{ name = %s, directory = \"bundled:kvasir-demo\", block-size = 16 }], pods = [ %s ] }"
                .formatted(MODEL, pods));
    await(() -> DemoCommand.healthy(node) == engines.size());
  }
}
