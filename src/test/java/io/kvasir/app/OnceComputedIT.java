package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.lab.engine.StepTime;
import io.kvasir.load.Ports;
import io.kvasir.sim.EventSettings;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.SimSettings;
import io.kvasir.sim.publisher.EventFormat;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Three nodes of one cluster before engines that share blocks only once they have computed them, as SGLang does. */
final class OnceComputedIT {
  private static final String MODEL = "kvasir-demo";
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern CACHED = Pattern.compile("cached=(\\d+)/");

  /** A prompt of some hundred tokens takes some hundred milliseconds. */
  private static final StepTime SLOW = new StepTime(1, 0, 500, 0, 0, 0, 0, 0);

  private final List<SimEngine> engines = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
    engines.forEach(SimEngine::close);
  }

  @Test
  void requestBehindAnotherOfItsPrefix_isPredictedExactly_whicheverNodesTakeThem() throws Exception {
    start();
    Node home = home();
    List<Node> others = nodes.stream().filter(node -> node != home).toList();
    List<List<Node>> pairs =
        List.of(
            List.of(home, home), List.of(others.getFirst(), others.getFirst()), List.of(others.getFirst(), home),
            List.of(home, others.getLast()), List.of(others.getFirst(), others.getLast()));
    for (List<Node> pair : pairs) {
      String where = "home " + nodes.indexOf(home) + ", first " + nodes.indexOf(pair.getFirst()) + ", second "
          + nodes.indexOf(pair.getLast());
      String system = words(pairs.indexOf(pair), 200);
      CompletableFuture<HttpResponse<String>> first = chat(pair.getFirst(), system, "What is cached?");
      await("the first one to be decided", () -> inFlight(home) == 1);
      HttpResponse<String> second = chat(pair.getLast(), system, "And now?").join();
      assertThat(first.join().statusCode()).isEqualTo(200);
      assertThat(header(second, "X-Router-Backend")).isEqualTo(header(first.join(), "X-Router-Backend"));
      assertThat(predicted(second)).as(where).isGreaterThan(200).isEqualTo(cached(second));
      assertThat(header(second, "X-Router-Reason")).as(where).containsPattern("; held=prefix:\\d+$");
      await("the load to be given back", () -> inFlight(home) == 0);
    }
  }

  private void start() throws Exception {
    EventFormat format = new EventFormat(EventFormat.Encoding.SGLANG, false, false);
    for (int i = 0; i < 2; i++) {
      engines.add(
          SimEngine.start(
              SimSettings.builder().model(MODEL).port(0).seed(i).stepTime(SLOW)
                  .events(EventSettings.DEFAULT.withLoopback().withFormat(format)).build()));
    }
    List<Integer> ports = IntStream.range(0, 3).mapToObj(i -> Ports.free()).toList();
    for (int port : ports) {
      nodes.add(TestNodes.start(settings(ports, port)));
    }
    for (Node node : nodes) {
      await("the engines to be known", () -> DemoCommand.healthy(node) == engines.size());
    }
    // Their first events show what they are.
    for (int i = 0; i < engines.size(); i++) {
      HttpResponse<String> answer =
          TestNodes.post(
              nodes.getFirst(), "/v1/chat/completions", chatBody(words(100 + i, 50), "hello"), "X-Router-Profile",
              "round-robin");
      assertThat(answer.statusCode()).isEqualTo(200);
    }
    await("the engines' events", () ->
        home().fleet().workers().stream().allMatch(worker -> worker.index().blocks() > 0));
    await("the load to be given back", () -> inFlight(home()) == 0);
  }

  private String settings(List<Integer> ports, int port) {
    return """
        kvasir {
          models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
          pods = [%s]
          cluster { seed-nodes = [%s], port = %d }
        }
        """.formatted(
            MODEL,
            IntStream.range(0, engines.size()).mapToObj(this::pod).collect(Collectors.joining(", ")),
            ports.stream().map("\"127.0.0.1:%d\""::formatted).collect(Collectors.joining(", ")),
            port);
  }

  private String pod(int number) {
    SimEngine engine = engines.get(number);
    return "{ name = sim-%d, url = \"%s\", models = [%s], events { endpoint = \"%s\", replay = \"%s\" } }"
        .formatted(number, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint());
  }

  /** The node where the model's cell is at home. */
  private Node home() {
    for (Node node : nodes) {
      ClusterStatus status = node.fleet().cluster();
      String self =
          status.nodes().stream().filter(ClusterStatus.NodeStatus::self).findAny().orElseThrow().address();
      if (self.equals(status.cells().getFirst().home())) {
        return node;
      }
    }
    throw new AssertionError("the cell has no home");
  }

  private static int inFlight(Node node) {
    return node.fleet().workers().stream().mapToInt(worker -> worker.load().inFlight()).sum();
  }

  private static int predicted(HttpResponse<String> answer) {
    Matcher cached = CACHED.matcher(header(answer, "X-Router-Reason"));
    assertThat(cached.find()).as(header(answer, "X-Router-Reason")).isTrue();
    return Integer.parseInt(cached.group(1));
  }

  private static int cached(HttpResponse<String> answer) throws Exception {
    return JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
  }

  private static CompletableFuture<HttpResponse<String>> chat(Node node, String system, String question) {
    return TestNodes.postAsync(node, "/v1/chat/completions", chatBody(system, question));
  }

  private static String chatBody(String system, String question) {
    return
        """
        {"model": "%s", "max_tokens": 20, "messages": [
          {"role": "system", "content": "%s"}, {"role": "user", "content": "%s"}]}
        """
            .formatted(MODEL, system, question);
  }
}
