package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.kubernetes.RealKubernetes;
import io.kvasir.kubernetes.inference.InferenceApi;
import io.kvasir.load.Ports;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whole nodes with the API server of Kubernetes itself, by the rights that the manifests in {@code cluster-configs}
 * give them: what the tests with the small server hold of it is true. Skipped where its programs are not named by
 * {@code -Dkvasir.kubernetes=DIRECTORY}.
 */
final class RealKubernetesIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  private static final Path MANIFESTS = Path.of("cluster-configs/kustomize/picker/kvasir.yaml");
  private static final Path DEFINITIONS = Path.of("src/test/resources/io/kvasir/kubernetes/definitions");
  private static final String POOLS = "/apis/inference.networking.k8s.io/v1/namespaces/llm/inferencepools/";
  private static final String OBJECTIVES =
      "/apis/inference.networking.x-k8s.io/v1alpha2/namespaces/llm/inferenceobjectives/";

  @TempDir private Path directory = Path.of("");
  private RealKubernetes kubernetes;
  private final List<Node> nodes = new ArrayList<>();

  @BeforeEach
  void start() throws Exception {
    Path programs = RealKubernetes.programs();
    assumeTrue(programs != null, "-Dkvasir.kubernetes names no directory with kube-apiserver and etcd");
    kubernetes = new RealKubernetes(Objects.requireNonNull(programs), directory);
    kubernetes.apply("{apiVersion: v1, kind: Namespace, metadata: {name: llm}}");
    kubernetes.apply("{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: llm, name: default}}");
    for (String plural : List.of("inferencepools", "inferenceobjectives", "inferencemodelrewrites")) {
      kubernetes.apply(Files.readString(DEFINITIONS.resolve(plural + ".yaml")));
    }
    for (String manifest : Files.readString(MANIFESTS).split("\n---\n", -1)) {
      // The definitions of cert-manager are not there.
      if (!manifest.contains("cert-manager.io/v1")) {
        kubernetes.apply(manifest);
      }
    }
    kubernetes.apply(
        """
        {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: reviews},
         subjects: [{kind: ServiceAccount, name: kvasir, namespace: llm}],
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:auth-delegator'}}
        """);
    Files.writeString(directory.resolve("token"), kubernetes.token("llm", "kvasir"));
  }

  @AfterEach
  void stop() throws Exception {
    nodes.forEach(Node::close);
    if (kubernetes != null) {
      kubernetes.close();
    }
  }

  @Test
  void nodes_findEachOtherAndTheirEngines_andWriteWhatBecameOfPools() throws Exception {
    for (int i = 0; i < 2; i++) {
      int management = Ports.free();
      router("kvasir-" + i, management);
      nodes.add(node(management));
    }
    await("two nodes in one cluster", () -> nodes.stream().allMatch(node -> up(node) == 2));

    engine("llama-0", "127.0.0.2");
    kubernetes.apply(
        """
        {apiVersion: v1, kind: Service, metadata: {namespace: llm, name: llama-picker},
         spec: {ports: [{port: 9002}]}}
        """);
    kubernetes.apply(pool("llama", "8000"));
    kubernetes.apply(
        """
        {apiVersion: inference.networking.x-k8s.io/v1alpha2, kind: InferenceObjective,
         metadata: {namespace: llm, name: batch}, spec: {poolRef: {name: llama}, priority: -1}}
        """);
    for (Node node : nodes) {
      await("the pool's pod", () -> workers(node).equals(Set.of("llama-0")));
    }
    await("the pool's status", () -> condition(POOLS + "llama", "/status/parents/0/conditions", "Accepted", "True"));
    await("its Service", () -> condition(POOLS + "llama", "/status/parents/0/conditions", "ResolvedRefs", "True"));
    await("the objective's", () -> condition(OBJECTIVES + "batch", "/status/conditions", "Accepted", "True"));

    // What the schemas refuse never comes; what they let through and is wrong is told.
    assertThatThrownBy(() -> kubernetes.apply(pool("odd", "70000"))).hasMessageContaining("422");
    kubernetes.apply(pool("lonely", "8000"));
    await("no Service", () -> condition(POOLS + "lonely", "/status/parents/0/conditions", "ResolvedRefs", "False"));
    kubernetes.delete(POOLS + "lonely");

    // The API goes away, and versions expire meanwhile.
    kubernetes.stop();
    await("the outage", () -> isTold("the Kubernetes API at"));
    for (Node node : nodes) {
      assertThat(workers(node)).isEqualTo(Set.of("llama-0"));
    }
    kubernetes.forgetChanges();
    kubernetes.restart();
    engine("llama-1", "127.0.0.3");
    for (Node node : nodes) {
      await("another pod", () -> workers(node).equals(Set.of("llama-0", "llama-1")));
    }
    kubernetes.delete("/api/v1/namespaces/llm/pods/llama-0");
    for (Node node : nodes) {
      await("a pod less", () -> workers(node).equals(Set.of("llama-1")));
      await("no more of the outage", () -> !ready(node).contains("Kubernetes API"));
    }

    // A right that is taken is named, and loses nothing.
    JsonNode binding = kubernetes.get("/apis/rbac.authorization.k8s.io/v1/namespaces/llm/rolebindings/kvasir");
    kubernetes.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/llm/rolebindings/kvasir");
    kubernetes.stop();
    kubernetes.restart();
    await("the missing right", () -> isTold("has no right to"));
    assertThat(workers(nodes.getFirst())).isEqualTo(Set.of("llama-1"));
    kubernetes.apply(
        """
        {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: llm, name: kvasir},
         subjects: %s, roleRef: %s}
        """.formatted(binding.path("subjects"), binding.path("roleRef")));
    for (Node node : nodes) {
      await("the right again", () -> !ready(node).contains("has no right to"));
    }
  }

  @Test
  void metrics_areForThoseWhoseRolesAllowIt() throws Exception {
    int management = Ports.free();
    router("kvasir-0", management);
    router("kvasir-1", Ports.free());
    Node node = node(management);
    nodes.add(node);
    for (String account : List.of("prometheus", "eve")) {
      kubernetes.apply(
          "{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: llm, name: %s}}".formatted(account));
    }
    kubernetes.apply(
        """
        {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: metrics},
         rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}
        ---
        {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: metrics},
         subjects: [{kind: ServiceAccount, name: prometheus, namespace: llm}],
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics}}
        """);
    assertThat(metrics(node, kubernetes.token("llm", "prometheus"))).isEqualTo(200);
    assertThat(metrics(node, kubernetes.token("llm", "eve"))).isEqualTo(403);
    assertThat(metrics(node, "made-up")).isEqualTo(401);
  }

  private static int metrics(Node node, String token) throws Exception {
    return TestNodes.manage(node, "GET", "/metrics", "", "Authorization", "Bearer " + token).statusCode();
  }

  private static String pool(String name, String port) throws Exception {
    return YAML.writeValueAsString(
        JSON.readTree(
            InferenceApi.pool("llm", name, "llama", "{\"number\": " + port + "}")
                .replace("\"later\": {\"field\": 1},", "")));
  }

  private void engine(String name, String ip) throws Exception {
    kubernetes.apply(
        """
        {apiVersion: v1, kind: Pod,
         metadata: {namespace: llm, name: %s, labels: {app: llama}, annotations: {kvasir.io/models: llama}},
         spec: {containers: [{name: engine, image: vllm}]}}
        """
            .formatted(name));
    kubernetes.status(
        "pods", "llm", name,
        """
        {"phase": "Running", "podIP": "%1$s", "podIPs": [{"ip": "%1$s"}],
         "conditions": [{"type": "Ready", "status": "True"}]}
        """
            .formatted(ip));
  }

  private void router(String name, int management) throws Exception {
    kubernetes.apply(
        """
        {apiVersion: v1, kind: Pod,
         metadata: {namespace: llm, name: %s, labels: {app.kubernetes.io/name: kvasir}},
         spec: {containers: [{name: kvasir, image: kvasir, ports: [
           {name: gateway, containerPort: 3}, {name: management, containerPort: %d}]}]}}
        """
            .formatted(name, management));
    kubernetes.status(
        "pods", "llm", name,
        "{\"phase\": \"Running\", \"podIP\": \"127.0.0.1\", \"podIPs\": [{\"ip\": \"127.0.0.1\"}]}");
  }

  private Node node(int management) throws Exception {
    String api =
        "api = \"%s\", token = \"%s\", authority = \"%s\", namespace = llm"
            .formatted(kubernetes.url(), directory.resolve("token"), kubernetes.authority());
    return TestNodes.start(
        """
        kvasir {
          management { port = %d, metrics-access = kubernetes }
          cluster {
            port = %d
            discovery = kubernetes
            kubernetes { %s, selector = "app.kubernetes.io/name=kvasir" }
            required-nodes = 2
            stable-for = 500 ms
            allow-loopback = true
          }
          pods-from.kubernetes { %s, pools.namespaces = [llm] }
        }
        """
            .formatted(management, Ports.free(), api, api));
  }

  private boolean condition(String path, String conditions, String type, String status) throws Exception {
    for (JsonNode condition : kubernetes.get(path).at(conditions)) {
      if (condition.path("type").asText().equals(type)) {
        return condition.path("status").asText().equals(status);
      }
    }
    return false;
  }

  private static long up(Node node) {
    return node.fleet().cluster().nodes().stream().map(NodeStatus::state).filter("up"::equals).count();
  }

  private boolean isTold(String words) throws Exception {
    boolean found = false;
    for (Node node : nodes) {
      found |= ready(node).contains(words);
    }
    return found;
  }

  private static String ready(Node node) throws Exception {
    return TestNodes.manage(node, "/ready").body();
  }

  private static Set<String> workers(Node node) throws Exception {
    JsonNode cluster = JSON.readTree(TestNodes.manage(node, "/admin/cluster").body());
    return new TreeSet<>(cluster.path("workers").findValuesAsText("id"));
  }
}
