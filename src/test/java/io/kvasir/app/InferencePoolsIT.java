package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.kubernetes.inference.InferenceApi.POOLS;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.FakeKubernetes;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.kubernetes.inference.InferenceApi;
import io.kvasir.load.Ports;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole nodes of one cluster whose workers are the pods of InferencePools, over real sockets. */
final class InferencePoolsIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ObjectKey LLAMA = new ObjectKey("models", "llama");
  private static final ObjectKey QWEN = new ObjectKey("models", "qwen");

  private static final String PICKER = "picker { enabled = true, host = \"127.0.0.1\", port = 0, health-port = 0 }";

  private final FakeKubernetes kubernetes = new FakeKubernetes();
  private final List<Node> nodes = new ArrayList<>();

  InferencePoolsIT() throws Exception {
    InferenceApi.install(kubernetes);
  }

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
    kubernetes.close();
  }

  @Test
  void poolsOfTheApi_areOneNodesToReadAndWrite_whicheverNodeIsThere(@TempDir Path directory) throws Exception {
    kubernetes.put(ApiResource.SERVICES, InferenceApi.service("models", "llama-picker"));
    kubernetes.put(ApiResource.SERVICES, InferenceApi.service("models", "qwen-picker"));
    kubernetes.put(POOLS, InferenceApi.pool("models", "llama", "llama", "{\"number\": 8000}, {\"number\": 8001}"));
    pod("llama-0", "llama", "127.0.0.2");
    List<Integer> ports = List.of(Ports.free(), Ports.free(), Ports.free());
    for (int port : ports) {
      nodes.add(node(directory, port, ports, ""));
    }
    for (Node node : nodes) {
      await("the pool's pod", () -> workers(node).equals(Set.of("llama-0.models:8000", "llama-0.models:8001")));
    }
    await("the status", () -> accepted(LLAMA).equals("True"));

    // A fault is told by all nodes; one writes it, and what was valid stays.
    kubernetes.put(POOLS, InferenceApi.pool("models", "llama", "llama", "{\"number\": 70000}"));
    await("the condition", () -> accepted(LLAMA).equals("False"));
    for (Node node : nodes) {
      await("the fault", () -> ready(node).contains("InferencePool models/llama: spec.targetPorts has 70000"));
      assertThat(workers(node)).hasSize(2);
    }
    assertThat(kubernetes.all(ApiResource.EVENTS)).hasSize(1);
    assertThat(kubernetes.requests("patch", POOLS)).as("writes by three nodes").isEqualTo(2);

    // While the API is away everything stays, also for the node that takes over.
    kubernetes.stop();
    Node first = nodes.getFirst();
    await("the outage to be told", () -> ready(first).contains("cannot be reached"));
    nodes.remove(first);
    first.close();
    await("another node to read pods", () -> {
      boolean found = false;
      for (Node node : nodes) {
        found |= ready(node).contains("0 pods known from it stay");
      }
      return found;
    });
    for (Node node : nodes) {
      assertThat(workers(node)).hasSize(2);
    }
    Node late = node(directory, Ports.free(), ports.subList(1, 3), PICKER);
    nodes.add(late);
    await("a picker that knows its workers", () -> workers(late).size() == 2);
    assertThat(TestNodes.manage(late, "/ready").statusCode()).isEqualTo(503);
    assertThat(ready(late)).contains("objects of kind InferencePool have not been read yet");
    kubernetes.restart();
    await("a picker that knows its pools", () -> TestNodes.manage(late, "/ready").statusCode() == 200);
    kubernetes.put(POOLS, InferenceApi.pool("models", "qwen", "qwen", "{\"number\": 30000}"));
    kubernetes.put(POOLS, InferenceApi.pool("models", "llama", "llama", "{\"number\": 8000}"));
    pod("qwen-0", "qwen", "127.0.0.3");
    for (Node node : nodes) {
      await("the next pool", () -> workers(node).equals(Set.of("llama-0.models", "qwen-0.models")));
    }
    await("the next node to write", () -> accepted(QWEN).equals("True") && accepted(LLAMA).equals("True"));
    assertThat(kubernetes.get(POOLS, QWEN).at("/status/parents")).hasSize(1);
    assertThat(kubernetes.get(POOLS, QWEN).at("/status/parents/0/controllerName").asText())
        .isEqualTo("kvasir.io/routers");
  }

  private void pod(String name, String app, String ip) throws Exception {
    kubernetes.put(
        ApiResource.PODS,
        """
        {"metadata": {"namespace": "models", "name": "%s", "labels": {"app": "%s"},
           "annotations": {"kvasir.io/models": "%s"}},
         "status": {"podIP": "%s", "conditions": [{"type": "Ready", "status": "True"}]}}
        """
            .formatted(name, app, app, ip));
  }

  private String accepted(ObjectKey pool) {
    for (JsonNode condition : kubernetes.get(POOLS, pool).at("/status/parents/0/conditions")) {
      if (condition.path("type").asText().equals("Accepted")) {
        return condition.path("status").asText();
      }
    }
    return "";
  }

  private static String ready(Node node) throws Exception {
    return TestNodes.manage(node, "/ready").body();
  }

  private static Set<String> workers(Node node) throws Exception {
    JsonNode cluster = JSON.readTree(TestNodes.manage(node, "/admin/cluster").body());
    return new TreeSet<>(cluster.path("workers").findValuesAsText("id"));
  }

  private Node node(Path directory, int port, List<Integer> ports, String more) throws Exception {
    Path token = Files.writeString(directory.resolve("token"), "secret\n");
    return TestNodes.start(
        """
        kvasir {
          cluster { port = %d, seed-nodes = ["127.0.0.1:%d", "127.0.0.1:%d"] }
          pods-from.kubernetes {
            api = "%s", namespace = routers, token = "%s"
            pools.namespaces = [models]
          }
          %s
        }
        """
            .formatted(port, ports.get(0), ports.get(1), kubernetes.url(), token, more));
  }
}
