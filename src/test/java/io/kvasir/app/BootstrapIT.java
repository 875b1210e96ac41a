package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.FakeKubernetes;
import io.kvasir.load.Ports;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole nodes that know nothing of each other but a name in the DNS or a Kubernetes API, over real sockets. */
final class BootstrapIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
  }

  @Test
  void threeNodes_findEachOtherByDns_andAnyTakesAWorkerForAll() throws Exception {
    List<Integer> ports = List.of(Ports.free(), Ports.free(), Ports.free());
    try (FakeDns dns = new FakeDns("_management._tcp.kvasir.test", ports)) {
      for (int port : ports) {
        nodes.add(node(dns, port));
      }
      await("three nodes in one cluster", () -> nodes.stream().allMatch(node -> up(node) == 3));
    }
    for (Node node : nodes) {
      await("the node to be ready", () -> TestNodes.manage(node, "/ready").statusCode() == 200);
      for (String path : List.of("/startup", "/alive", "/bootstrap/seed-nodes", "/cluster/members/", "/metrics")) {
        assertThat(TestNodes.manage(node, path).statusCode()).as(path).isEqualTo(200);
      }
    }
    assertThat(read(nodes.getFirst(), "/bootstrap/seed-nodes").path("seedNodes")).isNotEmpty();

    HttpResponse<String> added =
        TestNodes.manage(
            nodes.get(2), "POST", "/admin/workers",
            "{\"name\":\"late\",\"url\":\"http://127.0.0.1:1\",\"models\":[\"m\"]}");
    assertThat(added.statusCode()).as(added.body()).isEqualTo(201);
    for (Node node : nodes) {
      await("the cell to be seen", () -> home(node).matches("127.0.0.1:\\d+"));
    }
    String home = home(nodes.getFirst());
    for (Node node : nodes) {
      assertThat(home(node)).as("one home").isEqualTo(home);
    }
    TestCommand status =
        TestCommand.run("cluster", "status", "--management", TestNodes.management(nodes.getFirst(), "/").toString());
    assertThat(status.out())
        .contains("NODE", home, "up", "CELL", "WORKER", "late")
        .containsOnlyOnce("(answers)");
    Node elsewhere = home.equals(self(nodes.getFirst())) ? nodes.getLast() : nodes.getFirst();
    HttpResponse<String> removed = TestNodes.manage(elsewhere, "DELETE", "/admin/workers/late", "");
    assertThat(removed.statusCode()).as(removed.body()).isEqualTo(200);
    for (Node node : nodes) {
      await("the worker to be gone", () -> cluster(node).path("workers").isEmpty());
    }
  }

  @Test
  void nodes_findEachOtherByTheKubernetesApi_asSoonAsItAnswers(@TempDir Path directory) throws Exception {
    Path token = Files.writeString(directory.resolve("token"), "secret\n");
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    try (FakeKubernetes kubernetes = new FakeKubernetes()) {
      kubernetes.fail(503);
      for (int port : ports) {
        kubernetes.put(ApiResource.PODS, router("kvasir-" + port, "kvasir", port, ""));
        nodes.add(node(kubernetes, token, port));
      }
      kubernetes.put(ApiResource.PODS, router("other", "other", 1, ""));
      kubernetes.put(
          ApiResource.PODS, router("leaving", "kvasir", 2, "\"deletionTimestamp\": \"2026-01-01T00:00:00Z\","));
      await("attempts of both nodes, and more", () -> kubernetes.failures() > 4);
      assertThat(nodes).as("members while the API is away").allMatch(node -> up(node) == 0);
      kubernetes.fail(0);
      await("two nodes in one cluster", () -> nodes.stream().allMatch(node -> up(node) == 2));
    }
    for (Node node : nodes) {
      await("the node to be ready", () -> TestNodes.manage(node, "/ready").statusCode() == 200);
    }
  }

  private static String home(Node node) throws Exception {
    return cluster(node).at("/cells/0/home").asText();
  }

  private static String self(Node node) throws Exception {
    for (JsonNode member : cluster(node).path("nodes")) {
      if (member.path("self").booleanValue()) {
        return member.path("address").textValue();
      }
    }
    throw new AssertionError("a node is not in its own cluster");
  }

  private static JsonNode cluster(Node node) throws Exception {
    return read(node, "/admin/cluster");
  }

  private static JsonNode read(Node node, String path) throws Exception {
    return JSON.readTree(TestNodes.manage(node, path).body());
  }

  private static long up(Node node) {
    return node.fleet().cluster().nodes().stream().map(NodeStatus::state).filter("up"::equals).count();
  }

  private static String router(String name, String app, int port, String metadata) {
    return """
        {"metadata": {%s "namespace": "routers", "name": "%s", "labels": {"app": "%s"}},
         "spec": {"containers": [{"ports": [
           {"name": "gateway", "containerPort": 3}, {"name": "management", "containerPort": %d}]}]},
         "status": {"podIP": "127.0.0.1", "phase": "Running"}}
        """
        .formatted(metadata, name, app, port);
  }

  private static Node node(FakeKubernetes kubernetes, Path token, int management) throws Exception {
    return TestNodes.start(
        """
        kvasir {
          management.port = %d
          cluster {
            port = %d
            discovery = kubernetes
            kubernetes { api = "%s", token = "%s", namespace = routers }
            required-nodes = 2
            stable-for = 500 ms
            allow-loopback = true
          }
        }
        """
            .formatted(management, Ports.free(), kubernetes.url(), token));
  }

  private static Node node(FakeDns dns, int management) throws Exception {
    return TestNodes.start(
        """
        kvasir {
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
            .formatted(management, Ports.free(), dns.address()));
  }
}
