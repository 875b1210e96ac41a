package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Two engines that pull from each other, of which one is full when what it has cached is asked for at either of two
 * nodes.
 */
final class PullIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int NOWHERE = 1;

  private final List<SimEngine> engines = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
    engines.forEach(SimEngine::close);
  }

  @Test
  void fullWorkersPrefix_isPulledByAnother_whichFindsWhatWasPromised_whicheverNodeDecides() throws Exception {
    start(0);
    double before = 0;
    for (Node node : nodes) {
      HttpResponse<String> pulled = chatWhileItsWorkerIsFull(node, nodes.indexOf(node));

      int cached = JSON.readTree(pulled.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
      assertThat(cached).isGreaterThan(2_000);
      assertThat(header(pulled, "X-Router-Reason"))
          .contains("depth=0/", "cached=" + cached + "/", "pull=" + cached + "@");
      assertThat(pulledTokens("found")).isEqualTo(before + cached);
      before += cached;
    }
    assertThat(pulledTokens("missing")).isZero();
  }

  @Test
  void peerThatCannotBeReached_costsThePromptsComputing_andIsNoted() throws Exception {
    start(NOWHERE);

    HttpResponse<String> computed = chatWhileItsWorkerIsFull(nodes.getFirst(), 0);

    assertThat(JSON.readTree(computed.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt()).isZero();
    assertThat(header(computed, "X-Router-Reason")).contains("pull=");
    assertThat(pulledTokens("found")).isZero();
    assertThat(pulledTokens("missing")).isGreaterThan(2_000);
  }

  /** A prompt that begins like one that a worker has cached, while that worker has no place. */
  private HttpResponse<String> chatWhileItsWorkerIsFull(Node node, int words) throws Exception {
    String system = words(words, 3_000);
    HttpResponse<String> first = chat(node, system, "one", 1).join();
    assertThat(first.statusCode()).as(first.body()).isEqualTo(200);
    await(() -> gauge("kvasir_worker_in_flight") == 0);
    await(() -> gauge("kvasir_worker_predicted_blocks") == 0 && gauge("kvasir_worker_blocks") > 100);
    CompletableFuture<HttpResponse<String>> longOne = chat(node, system, "two", 3_000);
    await(() -> gauge("kvasir_worker_in_flight") == 1);

    HttpResponse<String> other = chat(node, system, "three", 1).join();

    assertThat(longOne).isNotDone();
    assertThat(other.statusCode()).as(other.body()).isEqualTo(200);
    assertThat(header(other, "X-Router-Backend")).isNotEqualTo(header(first, "X-Router-Backend"));
    longOne.cancel(true);
    await(() -> gauge("kvasir_worker_in_flight") == 0);
    return other;
  }

  private CompletableFuture<HttpResponse<String>> chat(Node node, String system, String user, int tokens)
      throws Exception {
    return TestNodes.postAsync(
        node,
        "/v1/chat/completions",
        """
        {"model": "%s", "max_tokens": %d, "ignore_eos": true, "messages": [
          {"role": "system", "content": "%s"}, {"role": "user", "content": "%s"}]}
        """.formatted(MODEL, tokens, system, user));
  }

  private double pulledTokens(String result) throws Exception {
    return sum("kvasir_worker_pulled_tokens_total{result=\"" + result + "\"");
  }

  private double gauge(String name) throws Exception {
    return sum(name + "{");
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
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    for (int own : ports) {
      nodes.add(
          TestNodes.start(
              """
              kvasir {
                models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
                pods = [ %s ]
                cluster { seed-nodes = ["127.0.0.1:%d"], port = %d }
              }
              """.formatted(MODEL, pods, ports.getFirst(), own)));
    }
    await(() -> nodes.stream().allMatch(node -> TestNodes.serves(node, engines.size())));
  }
}
