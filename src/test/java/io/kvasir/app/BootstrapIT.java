package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole nodes that know nothing of each other but a name in the DNS, over real sockets. */
final class BootstrapIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
    http.close();
  }

  @Test
  void threeNodes_findEachOtherByDns_andAnyTakesAWorkerForAll() throws Exception {
    List<Integer> ports = List.of(freePort(), freePort(), freePort());
    try (FakeDns dns = new FakeDns("_management._tcp.kvasir.test", ports)) {
      for (int port : ports) {
        nodes.add(node(dns, port));
      }
      await("three nodes in one cluster", () -> nodes.stream().allMatch(node -> up(node) == 3));
    }
    for (Node node : nodes) {
      await("the node to be ready", () -> get(node, "/ready").statusCode() == 200);
      for (String path : List.of("/startup", "/alive", "/bootstrap/seed-nodes", "/cluster/members/", "/metrics")) {
        assertThat(get(node, path).statusCode()).as(path).isEqualTo(200);
      }
    }
    assertThat(JSON.readTree(get(nodes.getFirst(), "/bootstrap/seed-nodes").body()).path("seedNodes")).isNotEmpty();

    HttpResponse<String> added =
        http.send(
            HttpRequest.newBuilder(uri(nodes.get(2), "/admin/workers"))
                .POST(
                    HttpRequest.BodyPublishers.ofString(
                        "{\"name\":\"late\",\"url\":\"http://127.0.0.1:1\",\"models\":[\"m\"]}"))
                .build(),
            BodyHandlers.ofString());
    assertThat(added.statusCode()).as(added.body()).isEqualTo(201);
    for (Node node : nodes) {
      await("the cell to be seen", () -> home(node).matches("127.0.0.1:\\d+"));
    }
    assertThat(nodes.stream().map(BootstrapIT.this::home).distinct()).as("one home").hasSize(1);
    TestCommand status =
        TestCommand.run("cluster", "status", "--management", uri(nodes.getFirst(), "/").toString());
    assertThat(status.out())
        .contains("NODE", home(nodes.getFirst()), "up", "CELL", "WORKER", "late")
        .containsOnlyOnce("(answers)");
    Node elsewhere = nodes.stream().filter(node -> !home(node).equals(self(node))).findFirst().orElseThrow();
    HttpResponse<String> removed =
        http.send(
            HttpRequest.newBuilder(uri(elsewhere, "/admin/workers/late")).DELETE().build(), BodyHandlers.ofString());
    assertThat(removed.statusCode()).as(removed.body()).isEqualTo(200);
    await("the worker to be gone", () -> nodes.stream().allMatch(node -> cluster(node).path("workers").isEmpty()));
  }

  @Test
  void podFile_isFollowed_andStillWhenTheNodeThatLooksIsGone(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("pods.conf");
    Files.writeString(file, "pods = [{ name = a, url = \"http://127.0.0.1:1\", models = [m] }]");
    List<Integer> ports = List.of(freePort(), freePort());
    for (int port : ports) {
      nodes.add(
          new Node(
              KvasirConfig.of(
                  ConfigFactory.parseString(
                      """
                      kvasir {
                        gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
                        management.port = 0
                        cluster { port = %d, seed-nodes = ["127.0.0.1:%d", "127.0.0.1:%d"] }
                        pods-from.file { path = "%s", interval = 50 ms }
                      }
                      """
                          .formatted(port, ports.get(0), ports.get(1), file)))));
    }
    Node first = nodes.getFirst();
    Node second = nodes.getLast();
    await("the file's pod on both", () -> workers(first).equals("a") && workers(second).equals("a"));
    Files.writeString(file, "pods = [{ name = a, url = here, models = [m] }]");
    await("the fault to be told", () -> get(first, "/ready").body().contains("pods[0].url"));
    assertThat(workers(second)).isEqualTo("a");
    nodes.remove(first);
    first.close();
    Files.writeString(file, "pods = [{ name = b, url = \"http://127.0.0.1:2\", models = [m] }]");
    await("the next node to look", () -> workers(second).equals("b"));
  }

  private String workers(Node node) {
    return String.join(",", cluster(node).path("workers").findValuesAsText("id"));
  }

  private String home(Node node) {
    return cluster(node).at("/cells/0/home").asText();
  }

  private String self(Node node) {
    for (JsonNode member : cluster(node).path("nodes")) {
      if (member.path("self").booleanValue()) {
        return member.path("address").textValue();
      }
    }
    throw new AssertionError("a node is not in its own cluster");
  }

  private JsonNode cluster(Node node) {
    try {
      return JSON.readTree(get(node, "/admin/cluster").body());
    } catch (java.io.IOException e) {
      throw new AssertionError(e);
    }
  }

  private static long up(Node node) {
    return node.cells().status().nodes().stream().map(NodeStatus::state).filter("up"::equals).count();
  }

  private static Node node(FakeDns dns, int management) throws Exception {
    return new Node(
        KvasirConfig.of(
            ConfigFactory.parseString(
                """
                kvasir {
                  gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
                  management.port = %d
                  cluster {
                    port = %d
                    discovery = dns
                    dns { name = kvasir.test, port-name = management, servers = ["%s"] }
                    required-nodes = 3
                    stable-for = 500 ms
                    allow-loopback = true
                  }
                }
                """
                    .formatted(management, freePort(), dns.address()))));
  }

  private HttpResponse<String> get(Node node, String path) {
    try {
      return http.send(HttpRequest.newBuilder(uri(node, path)).timeout(PATIENCE).build(), BodyHandlers.ofString());
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static URI uri(Node node, String path) {
    return URI.create("http://127.0.0.1:" + node.management().getPort() + path);
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
