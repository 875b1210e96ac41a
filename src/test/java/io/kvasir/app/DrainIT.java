package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus.CellStatus;
import io.kvasir.cell.ClusterStatus.StandbyStatus;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.telemetry.Problem;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Nodes that stop while streams are open, over real sockets. */
final class DrainIT {
  private final List<Node> nodes = new ArrayList<>();
  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private SimEngine engine;

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
    http.shutdownNow();
    engine.close();
  }

  @Test
  void stopping_finishesItsStreams_andRefusesNewRequests() throws Exception {
    Node node = start("", "20 s");
    CompletableFuture<HttpResponse<InputStream>> stream = stream(node, 200);
    InputStream body = stream.join().body();
    assertThat(body.read()).isPositive();
    CompletableFuture<Void> stopped = CompletableFuture.runAsync(node::close);
    await("new requests to be refused", () -> ask(node).startsWith("HTTP/1.1 503 "));
    assertThat(ask(node)).contains("Retry-After: 1", "Connection: close", "\"unavailable\"", "shutting down");
    assertThat(node.readiness().obstacles()).extracting(Problem::what).contains("the node is stopping");
    assertThat(new String(body.readAllBytes(), StandardCharsets.UTF_8)).endsWith("data: [DONE]\n\n");
    stopped.join();
  }

  @Test
  void stopping_withStreamsThatOutliveTheGrace_givesTheirLoadBack() throws Exception {
    int first = Ports.free();
    int second = Ports.free();
    String cluster = "cluster { port = %d, seed-nodes = [\"127.0.0.1:" + first + "\"] }\n";
    Node home = start(cluster.formatted(first), "300 ms");
    Node other = node(cluster.formatted(second), "300 ms");
    await("the other node to know the model", () -> other.cells().models().contains("kvasir-demo"));
    await("the other node to be in the cluster", () -> other.readiness().obstacles().isEmpty());
    List<InputStream> bodies = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      InputStream body = stream(i % 2 == 0 ? other : home, 100_000).join().body();
      assertThat(body.read()).isPositive();
      bodies.add(body);
    }
    assertThat(inFlight(home)).isEqualTo(8);
    other.close();
    await("the load of the node that stopped to be given back", () -> inFlight(home) == 4);
    for (int i = 1; i < bodies.size(); i += 2) {
      assertThat(bodies.get(i).read()).isPositive();
      bodies.get(i).close();
    }
    await("the load of those who left to be given back", () -> inFlight(home) == 0);
  }

  /** Its cells decide for the others until they have left, and need to know of workers what they knew before. */
  @Test
  void stopping_whereTheCellIsAtHome_costsTheOthersNothing() throws Exception {
    int first = Ports.free();
    String cluster =
        "cell.health.probe-interval = 20 ms, cluster { port = %d, seed-nodes = [\"127.0.0.1:" + first + "\"] }\n";
    Node home = start(cluster.formatted(first), "300 ms");
    Node other = node(cluster.formatted(Ports.free()), "300 ms");
    await("the cell to have a copy", () -> home.fleet().cluster().cells().stream().anyMatch(DrainIT::isCopied));
    await("the other node to be ready", () -> other.readiness().obstacles().isEmpty());
    CompletableFuture<Void> stopped = CompletableFuture.runAsync(home::close);
    List<String> answers = new ArrayList<>();
    while (!stopped.isDone()) {
      HttpResponse<String> answer =
          TestNodes.post(
              other, "/v1/completions", "{\"model\":\"kvasir-demo\",\"prompt\":\"Tell me\",\"max_tokens\":1}");
      answers.add(answer.statusCode() == 200 ? "answered" : answer.body());
    }
    stopped.join();
    assertThat(answers).containsOnly("answered");
  }

  private static boolean isCopied(CellStatus cell) {
    return cell.standbys().stream().anyMatch(StandbyStatus::warm);
  }

  private Node start(String cluster, String grace) throws Exception {
    engine = SimEngine.start(SimSettings.builder().port(0).speed(1).events(EventSettings.OFF).build());
    Node node = node(cluster, grace);
    await("the engine to be known", () -> node.readiness().obstacles().isEmpty()
        && !node.fleet().workers().isEmpty());
    return node;
  }

  private Node node(String cluster, String grace) throws Exception {
    Node node =
        TestNodes.start(
            """
            kvasir {
              gateway.drain-timeout = %s
              models = [{ name = kvasir-demo, directory = "bundled:kvasir-demo", block-size = 16 }]
              pods = [{ name = engine, url = "%s", models = [kvasir-demo] }]
            %s}
            """
                .formatted(grace, engine.url(), cluster));
    nodes.add(node);
    return node;
  }

  private CompletableFuture<HttpResponse<InputStream>> stream(Node node, int tokens) {
    return http.sendAsync(
        HttpRequest.newBuilder(TestNodes.gateway(node, "/v1/completions"))
            .header("content-type", "application/json")
            .POST(BodyPublishers.ofString(
                    """
                    {"model":"kvasir-demo","prompt":"Tell me","max_tokens":%d,"ignore_eos":true,"stream":true}"""
                        .formatted(tokens)))
            .build(),
        BodyHandlers.ofInputStream());
  }

  /** What a client with a new connection is told. */
  private static String ask(Node node) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), node.gateway().getPort())) {
      String request = "GET /v1/models HTTP/1.1\r\nHost: k\r\nConnection: close\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (Exception e) {
      return e.toString();
    }
  }

  private static int inFlight(Node node) {
    return node.fleet().workers().stream().mapToInt(worker -> worker.load().inFlight()).sum();
  }
}
