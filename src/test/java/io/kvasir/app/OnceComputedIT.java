package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.EndToEndIT.words;
import static io.kvasir.app.TestNodes.header;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.enginemodel.StepTime;
import io.kvasir.load.Ports;
import io.kvasir.picker.TestStream;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Nodes before engines that share blocks only once they have computed them, as SGLang does. */
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
    start(3, "", "");
    showEvents();
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
      assertThat(predicted(header(second, "X-Router-Reason"))).as(where).isGreaterThan(200).isEqualTo(cached(second));
      assertThat(header(second, "X-Router-Reason")).as(where).containsPattern("; held=prefix:\\d+$");
      await("the load to be given back", () -> inFlight(home) == 0);
    }
  }

  /** Nothing is known of the engines' events yet. */
  @Test
  void enginesThatAreKnownToBeSo_areFromTheFirstRequestOn() throws Exception {
    start(1, ", once-computed = true", "");
    Node node = nodes.getFirst();
    CompletableFuture<HttpResponse<String>> first = chat(node, words(1, 200), "What is cached?");
    await("the first one to be decided", () -> inFlight(node) == 1);
    HttpResponse<String> second = chat(node, words(1, 200), "And now?").join();
    assertThat(first.join().statusCode()).isEqualTo(200);
    assertThat(predicted(header(second, "X-Router-Reason"))).isGreaterThan(200).isEqualTo(cached(second));
  }

  /** A gateway's proxy is not answered before its request may go. */
  @Test
  void requestOfTheEndpointPicker_isHeldThere() throws Exception {
    start(3, "", "picker { enabled = true, host = \"127.0.0.1\", port = 0, health-port = 0, tls.enabled = false }");
    showEvents();
    Node other = other();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", requireNonNull(other.picker()).ports().getFirst())
            .usePlaintext().build();
    try {
      TestStream first = picked(channel, chatBody(words(1, 200), "What is cached?"));
      CompletableFuture<HttpResponse<String>> firstAnswer = proxied(first);
      TestStream second = picked(channel, chatBody(words(1, 200), "And now?"));
      HttpResponse<String> secondAnswer = proxied(second).join();
      String reason = relayed(second, secondAnswer);
      relayed(first, firstAnswer.join());

      assertThat(secondAnswer.uri()).isEqualTo(firstAnswer.join().uri());
      assertThat(predicted(reason)).isGreaterThan(200).isEqualTo(cached(secondAnswer));
      assertThat(reason).containsPattern("; held=prefix:\\d+$");
    } finally {
      channel.shutdownNow();
    }
  }

  private static TestStream picked(ManagedChannel channel, String body) {
    return new TestStream(channel, null)
        .head("POST", "/v1/chat/completions", false, "content-type", "application/json")
        .body(body, true);
  }

  /** Sends a request to where the picker has it go, as soon as it says so. */
  private static CompletableFuture<HttpResponse<String>> proxied(TestStream stream) throws Exception {
    String address = TestStream.set(stream.destined().getHeaderMutation()).get("x-gateway-destination-endpoint");
    return TestNodes.postAsync(URI.create("http://" + address + "/v1/chat/completions"), stream.echo());
  }

  /** Shows the picker an answer; its reason for the worker is among the headers that it adds. */
  private static String relayed(TestStream stream, HttpResponse<String> answer) throws Exception {
    stream.responseHead(answer.statusCode(), null, false, "content-type", "application/json")
        .responseBody(answer.body(), true);
    Map<String, String> headers =
        TestStream.set(stream.reply().getResponseHeaders().getResponse().getHeaderMutation());
    assertThat(stream.responseEcho()).isEqualTo(answer.body());
    stream.halfClose();
    assertThat(stream.end().isOk()).isTrue();
    return headers.getOrDefault("x-router-reason", "");
  }

  private void start(int size, String ofEvents, String more) throws Exception {
    EventFormat format = new EventFormat(EventFormat.Encoding.SGLANG, false, false);
    for (int i = 0; i < 2; i++) {
      engines.add(
          SimEngine.start(
              SimSettings.builder().model(MODEL).port(0).seed(i).stepTime(SLOW)
                  .events(EventSettings.DEFAULT.withLoopback().withFormat(format)).build()));
    }
    List<Integer> ports = IntStream.range(0, size).mapToObj(i -> Ports.free()).toList();
    for (int port : ports) {
      nodes.add(TestNodes.start(settings(ports, port, ofEvents, more)));
    }
    for (Node node : nodes) {
      await("the engines to be known", () -> DemoCommand.healthy(node) == engines.size());
    }
  }

  /** Their first events show what the engines are. */
  private void showEvents() throws Exception {
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

  private String settings(List<Integer> ports, int port, String ofEvents, String more) {
    return """
        kvasir {
          models = [{ name = %s, directory = "bundled:kvasir-demo", block-size = 16 }]
          pods = [%s]
          cluster { seed-nodes = [%s], port = %d }
          %s
        }
        """.formatted(
            MODEL,
            IntStream.range(0, engines.size()).mapToObj(i -> pod(i, ofEvents)).collect(Collectors.joining(", ")),
            ports.stream().map("\"127.0.0.1:%d\""::formatted).collect(Collectors.joining(", ")),
            port, more);
  }

  private String pod(int number, String ofEvents) {
    SimEngine engine = engines.get(number);
    return "{ name = sim-%d, url = \"%s\", models = [%s], events { endpoint = \"%s\", replay = \"%s\"%s } }"
        .formatted(number, engine.url(), MODEL, engine.eventsEndpoint(), engine.replayEndpoint(), ofEvents);
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

  private Node other() {
    Node home = home();
    return nodes.stream().filter(node -> node != home).findFirst().orElseThrow();
  }

  private static int inFlight(Node node) {
    return node.fleet().workers().stream().mapToInt(worker -> worker.load().inFlight()).sum();
  }

  private static int predicted(String reason) {
    Matcher cached = CACHED.matcher(reason);
    assertThat(cached.find()).as(reason).isTrue();
    return Integer.parseInt(cached.group(1));
  }

  private static int cached(HttpResponse<String> answer) throws Exception {
    return JSON.readTree(answer.body()).at("/usage/prompt_tokens_details/cached_tokens").asInt();
  }

  private static CompletableFuture<HttpResponse<String>> chat(Node node, String system, String question) {
    return TestNodes.postAsync(node, "/v1/chat/completions", chatBody(system, question));
  }

  private static String chatBody(String system, String question) {
    return TestNodes.chat(MODEL, 20, system, question);
  }
}
