package io.kvasir.app.config;

import static io.kvasir.app.config.RenderedChart.secret;
import static io.kvasir.app.config.RenderedChart.texts;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.access.KeyDigest;
import java.io.ByteArrayInputStream;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The Helm chart as rendered with many values, its examples among them. */
final class ChartTest {
  static Stream<RenderedChart> charts() {
    return RenderedChart.all().rendered().values().stream();
  }

  @Test
  void helm_hasNothingToSay() {
    RenderedChart.Run run = RenderedChart.all();
    assertThat(run.rendered()).hasSizeGreaterThan(10);
    assertThat(run.lint()).doesNotContain("WARNING", "ERROR");
  }

  @ParameterizedTest
  @MethodSource("charts")
  void manifests_fitTheSchemas(RenderedChart chart) throws Exception {
    ManifestSchemas schemas = new ManifestSchemas();
    for (JsonNode manifest : chart.manifests().values()) {
      schemas.check(manifest);
    }
  }

  @Test
  void schemas_refuseWhatIsMisspelt() throws Exception {
    ManifestSchemas schemas = new ManifestSchemas();
    ObjectNode nodes = chart("defaults").nodes().deepCopy();
    ((ObjectNode) nodes.at("/spec/template/spec/containers/0/readinessProbe")).put("periodSecond", 3);
    assertThatThrownBy(() -> schemas.check(nodes)).hasMessageContaining("periodSecond");
    ObjectNode pool = chart("picker").manifest("InferencePool qwen").deepCopy();
    ((ObjectNode) pool.path("spec")).put("targetPortNumber", 8000);
    assertThatThrownBy(() -> schemas.check(pool)).hasMessageContaining("targetPortNumber");
    ((ObjectNode) pool.path("spec")).remove(List.of("targetPortNumber", "selector"));
    assertThatThrownBy(() -> schemas.check(pool)).hasMessageContaining("selector");
  }

  @ParameterizedTest
  @MethodSource("charts")
  void names_referToWhatIsThere(RenderedChart chart) {
    JsonNode pod = chart.pod();
    for (JsonNode volume : pod.path("volumes")) {
      String map = volume.at("/configMap/name").asText();
      assertThat(map.isEmpty() || chart.manifests().containsKey("ConfigMap " + map)).as(map).isTrue();
    }
    List<String> volumes = pod.path("volumes").findValuesAsText("name");
    List<String> claims = chart.nodes().at("/spec/volumeClaimTemplates").findValuesAsText("name");
    for (JsonNode mount : chart.container().path("volumeMounts")) {
      assertThat(Stream.concat(volumes.stream(), claims.stream())).contains(mount.path("name").asText());
    }
    Set<String> ports = chart.ports().keySet();
    for (JsonNode service : chart.ofKind("Service")) {
      assertThat(service.at("/spec/selector")).isEqualTo(chart.nodes().at("/spec/selector/matchLabels"));
      assertThat(service.at("/spec/ports").findValuesAsText("targetPort")).isNotEmpty().isSubsetOf(ports);
    }
    assertThat(fields(chart.nodes().at("/spec/template/metadata/labels")))
        .containsAll(fields(chart.nodes().at("/spec/selector/matchLabels")));
    for (JsonNode budget : chart.ofKind("PodDisruptionBudget")) {
      assertThat(budget.at("/spec/selector")).isEqualTo(chart.nodes().at("/spec/selector"));
    }
    for (JsonNode binding : chart.ofKind("RoleBinding")) {
      String namespace = binding.at("/metadata/namespace").asText();
      String role = "Role " + binding.at("/roleRef/name").asText();
      assertThat(chart.manifests()).containsKey(namespace.equals("llm") ? role : role + " in " + namespace);
      assertThat(binding.at("/subjects/0/name")).isEqualTo(pod.path("serviceAccountName"));
      assertThat(binding.at("/subjects/0/namespace").asText()).isEqualTo("llm");
    }
    for (JsonNode binding : chart.ofKind("ClusterRoleBinding")) {
      assertThat(chart.manifests()).containsKey("ClusterRole " + binding.at("/roleRef/name").asText() + " in ");
    }
    for (JsonNode route : chart.ofKind("HTTPRoute")) {
      JsonNode backend = route.at("/spec/rules/0/backendRefs/0");
      String kind = backend.path("kind").asText("Service");
      assertThat(chart.manifests()).containsKey(kind + " " + backend.path("name").asText());
    }
    for (JsonNode pool : chart.ofKind("InferencePool")) {
      JsonNode picker = pool.at("/spec/endpointPickerRef");
      JsonNode service = chart.manifest("Service " + picker.path("name").asText());
      assertThat(service.at("/spec/ports").findValues("port")).contains(picker.at("/port/number"));
    }
    if (!pod.path("serviceAccountName").asText().equals("existing")) {
      assertThat(chart.manifests()).containsKey("ServiceAccount " + pod.path("serviceAccountName").asText());
    }
  }

  /** What the Pod Security Standard "restricted" asks for, and a root file system that nobody writes to. */
  @ParameterizedTest
  @MethodSource("charts")
  void nodes_runRestricted(RenderedChart chart) {
    JsonNode pod = chart.pod();
    assertThat(pod.at("/securityContext/runAsNonRoot").asBoolean()).isTrue();
    assertThat(pod.at("/securityContext/seccompProfile/type").asText()).isEqualTo("RuntimeDefault");
    for (JsonNode container : pod.path("containers")) {
      JsonNode security = container.path("securityContext");
      assertThat(security.path("allowPrivilegeEscalation").asBoolean(true)).isFalse();
      assertThat(security.path("readOnlyRootFilesystem").asBoolean()).isTrue();
      assertThat(texts(security.at("/capabilities/drop"))).containsExactly("ALL");
    }
    for (String forbidden : List.of("hostNetwork", "hostPID", "hostIPC")) {
      assertThat(pod.has(forbidden)).isFalse();
    }
    assertThat(pod.findValues("hostPath")).isEmpty();
    for (JsonNode volume : pod.path("volumes")) {
      assertThat(volume.at("/secret/optional").asBoolean()).as("no node starts without its secrets").isFalse();
    }
  }

  @ParameterizedTest
  @MethodSource("charts")
  void probes_askPortsThatAreThere(RenderedChart chart) {
    JsonNode container = chart.container();
    for (String probe : List.of("startupProbe", "readinessProbe", "livenessProbe")) {
      JsonNode asked = container.path(probe);
      if (asked.has("grpc")) {
        assertThat(chart.ports()).containsEntry("picker-health", asked.at("/grpc/port").asInt());
      } else {
        assertThat(asked.at("/httpGet/port").asText()).isEqualTo("management").isIn(chart.ports().keySet());
        assertThat(asked.at("/httpGet/scheme").asText()).as("the port has TLS").isEqualTo("HTTPS");
      }
    }
  }

  /**
   * Every port is somebody's, those between nodes are theirs alone, and nobody from everywhere is let in but clients
   * by a Service that is open to the outside, whose addresses are no pods'.
   */
  @ParameterizedTest
  @MethodSource("charts")
  void networkPolicy_coversEveryPort(RenderedChart chart) {
    JsonNode manifest = chart.manifests().get("NetworkPolicy " + chart.nodes().at("/metadata/name").asText());
    if (manifest == null) {
      assertThat(chart.values().at("/networkPolicy/enabled").asBoolean(true)).isFalse();
      return;
    }
    JsonNode policy = manifest.path("spec");
    assertThat(policy.path("podSelector")).isEqualTo(chart.nodes().at("/spec/selector"));
    assertThat(texts(policy.path("policyTypes"))).containsExactly("Ingress", "Egress");
    Map<String, List<JsonNode>> peers = new HashMap<>();
    for (JsonNode rule : policy.path("ingress")) {
      assertThat(rule.path("ports")).as("each rule names its ports").isNotEmpty();
      boolean fromEverywhere = rule.path("from").isEmpty();
      boolean outside =
          !chart.values().at("/gateway/service/type").asText("ClusterIP").equals("ClusterIP")
              && !chart.values().at("/networkPolicy/clients").isArray()
              && rule.path("ports").findValuesAsText("port").equals(List.of("http"));
      assertThat(fromEverywhere).as("from everywhere: " + rule).isEqualTo(outside);
      for (JsonNode port : rule.path("ports")) {
        List<JsonNode> known = peers.computeIfAbsent(port.path("port").asText(), _ -> new ArrayList<>());
        rule.path("from").forEach(known::add);
      }
    }
    assertThat(peers.keySet()).containsExactlyInAnyOrderElementsOf(chart.ports().keySet());
    JsonNode nodes =
        RenderedChart.YAML
            .createObjectNode()
            .set("podSelector", chart.nodes().at("/spec/selector"));
    assertThat(peers.get("remoting")).containsExactly(nodes);
    assertThat(peers.get("lines")).containsExactly(nodes);
    assertThat(peers.get("management")).contains(nodes).hasSize(2);
    List<Integer> between = new ArrayList<>();
    List<JsonNode> engines = new ArrayList<>();
    boolean reachesPools = false;
    Set<String> others = new TreeSet<>();
    for (JsonNode rule : policy.path("egress")) {
      if (rule.path("to").path(0).equals(nodes)) {
        rule.path("ports").forEach(port -> between.add(port.path("port").asInt()));
      } else if (rule.at("/to/0").has("podSelector") && !rule.has("ports")) {
        engines.add(rule.at("/to/0/podSelector/matchLabels"));
      } else if (!rule.has("ports")) {
        reachesPools = rule.at("/to/0").has("namespaceSelector");
      } else {
        rule.path("ports")
            .forEach(port -> others.add(port.path("protocol").asText() + " " + port.path("port").asInt()));
      }
    }
    assertThat(others).as("names, and the API").contains("UDP 53", "TCP 53", "TCP 443");
    assertThat(between)
        .containsExactly(chart.ports().get("remoting"), chart.ports().get("lines"), chart.ports().get("management"));
    assertThat(engines).isNotEmpty().doesNotHaveDuplicates();
    assertThat(reachesPools).isEqualTo(chart.ports().containsKey("picker"));
    for (JsonNode pool : chart.ofKind("InferencePool")) {
      assertThat(engines).contains(pool.at("/spec/selector/matchLabels"));
    }
  }

  @ParameterizedTest
  @MethodSource("charts")
  void engines_letNodesIn(RenderedChart chart) {
    for (JsonNode policy : chart.ofKind("NetworkPolicy")) {
      JsonNode spec = policy.path("spec");
      if (!spec.path("podSelector").equals(chart.nodes().at("/spec/selector"))) {
        assertThat(spec.at("/ingress/0/from").findValues("podSelector"))
            .contains(chart.nodes().at("/spec/selector"), spec.path("podSelector"));
        String nodes = "NetworkPolicy " + chart.nodes().at("/metadata/name").asText();
        assertThat(chart.manifest(nodes).at("/spec/egress").findValues("matchLabels"))
            .contains(spec.at("/podSelector/matchLabels"));
      }
    }
    assertThat(chart("adopt").ofKind("NetworkPolicy")).as("adopted engines may have other clients").hasSize(1);
    assertThat(chart("adopt-with-events").manifests()).containsKey("NetworkPolicy kvasir-engines in inference");
  }

  @ParameterizedTest
  @MethodSource("charts")
  void certificates_areForWhatTheyAreUsedFor(RenderedChart chart) throws Exception {
    Map<String, JsonNode> issued = new HashMap<>();
    for (JsonNode certificate : chart.ofKind("Certificate")) {
      issued.put(certificate.at("/spec/secretName").asText(), certificate.path("spec"));
      JsonNode issuer = certificate.at("/spec/issuerRef");
      assertThat(chart.manifests())
          .containsKey(issuer.path("kind").asText() + " " + issuer.path("name").asText());
    }
    for (JsonNode issuer : chart.ofKind("Issuer")) {
      JsonNode authority = issuer.at("/spec/ca/secretName");
      assertThat(authority.isMissingNode() || issued.containsKey(authority.asText())).isTrue();
    }
    if (!issued.isEmpty()) {
      String name = chart.nodes().at("/metadata/name").asText();
      JsonNode between = known(issued, name + "-cluster-issued-tls");
      assertThat(between.at("/privateKey/algorithm").asText()).isEqualTo("RSA");
      assertThat(texts(known(issued, name + "-management-issued-tls").path("dnsNames")))
          .as("no name by which a node knows another")
          .contains("localhost", name + "-cluster.llm.svc")
          .doesNotContainAnyElementsOf(texts(between.path("dnsNames")));
    }
    for (JsonNode monitor : chart.ofKind("PodMonitor")) {
      JsonNode tls = monitor.at("/spec/podMetricsEndpoints/0/tlsConfig");
      String secret = tls.at("/ca/secret/name").asText();
      List<String> names =
          issued.isEmpty()
              ? namesOf(chart.manifest("Secret " + secret))
              : texts(known(issued, secret).path("dnsNames"));
      assertThat(names).contains(tls.path("serverName").asText());
    }
  }

  @Test
  void firstKey_isTheOneOfTheDigest() {
    JsonNode keys = chart("defaults").manifest("Secret kvasir-keys");
    Config file = ConfigFactory.parseString(secret(keys, "keys.conf"));
    String digest = file.getConfigList("keys").getFirst().getString("sha256");
    assertThat(secret(keys, "key")).hasSize(40);
    assertThat(KeyDigest.ofHex(digest)).isEqualTo(KeyDigest.of(secret(keys, "key")));
    assertThat(secret(keys, "keys.conf")).doesNotContain(secret(keys, "key"));
    assertThat(chart("picker").manifests()).doesNotContainKey("Secret kvasir-keys");
  }

  /** A key that changed with each upgrade would be nobody's, and nodes with new certificates would not know the old. */
  @Test
  void anUpgrade_keepsSecrets(@TempDir Path upgraded) throws Exception {
    Map<String, JsonNode> before = new HashMap<>();
    chart("defaults").ofKind("Secret").forEach(each -> before.put(each.at("/metadata/name").asText(), each));
    assertThat(before).containsOnlyKeys("kvasir-cluster-tls", "kvasir-management-tls", "kvasir-keys");
    Files.writeString(upgraded.resolve("defaults.yaml"), "log: {level: debug}");
    RenderedChart after = RenderedChart.render(upgraded, before).rendered().get("defaults");
    for (JsonNode secret : Optional.ofNullable(after).orElseThrow().ofKind("Secret")) {
      String name = secret.at("/metadata/name").asText();
      assertThat(secret.path("data")).isEqualTo(known(before, name).path("data"));
    }
  }

  /** Kubernetes refuses to change them, and with them the upgrade. */
  @Test
  void anUpgrade_changesNoImmutableField(@TempDir Path later, @TempDir Path upgraded) throws Exception {
    try (Stream<Path> files = Files.walk(RenderedChart.CHART, FileVisitOption.FOLLOW_LINKS)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path copy = later.resolve(RenderedChart.CHART.relativize(file));
        Files.createDirectories(copy.getParent());
        Files.copy(file, copy);
      }
    }
    Path description = later.resolve("Chart.yaml");
    Files.writeString(
        description, Files.readString(description).replaceAll("(?m)^(version|appVersion): .*$", "$1: 9.8.7"));
    for (String each : List.of("everything", "defaults")) {
      Files.copy(RenderedChart.CASES.resolve(each + ".yaml"), upgraded.resolve(each + ".yaml"));
    }
    Map<String, RenderedChart> after = RenderedChart.render(later, upgraded, Map.of()).rendered();
    JsonNode labels = Optional.ofNullable(after.get("defaults")).orElseThrow().nodes().at("/metadata/labels");
    assertThat(labels.path("helm.sh/chart").asText()).isEqualTo("kvasir-9.8.7");
    after.forEach((name, chart) -> {
      for (String immutable : List.of("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates")) {
        assertThat(chart.nodes().path("spec").path(immutable))
            .as(immutable)
            .isEqualTo(chart(name).nodes().path("spec").path(immutable));
      }
    });
  }

  /** Helm removes those that it has made once cert-manager issues others, and cert-manager must not write into them. */
  @Test
  void secrets_ofEachSource_haveNamesOfTheirOwn() {
    Set<String> made = new TreeSet<>();
    chart("defaults").ofKind("Secret").forEach(each -> made.add(each.at("/metadata/name").asText()));
    Set<String> issued = new TreeSet<>();
    chart("kustomize-base").ofKind("Certificate").forEach(each -> issued.add(each.at("/spec/secretName").asText()));
    assertThat(issued).hasSize(3).doesNotContainAnyElementsOf(made);
  }

  /** They are links to what Grafana and Prometheus are given without Kubernetes, too. */
  @Test
  void dashboardsAndRules_areTheOnesThatThereAre() throws Exception {
    RenderedChart chart = chart("everything");
    JsonNode rules = RenderedChart.YAML.readTree(Path.of("cluster-configs/prometheus/kvasir.rules.yaml").toFile());
    assertThat(chart.manifest("PrometheusRule router").path("spec")).isEqualTo(rules);
    try (Stream<Path> files = Files.list(Path.of("cluster-configs/grafana"))) {
      List<Path> dashboards = files.filter(file -> file.toString().endsWith(".json")).toList();
      assertThat(dashboards).hasSizeGreaterThan(5);
      for (Path file : dashboards) {
        String name = file.getFileName().toString();
        JsonNode map = chart.manifest("ConfigMap router-dashboard-" + name.replace(".json", ""));
        assertThat(map.path("data").path(name).asText()).isEqualTo(Files.readString(file));
      }
    }
  }

  /** What it reads and writes where the pools are; nothing is written without need, and nothing deleted. */
  @Test
  void rights_areThoseOfThePicker() {
    Map<String, Set<String>> rights = rights(chart("picker").manifest("Role kvasir"));
    Set<String> read = Set.of("get", "list", "watch");
    assertThat(rights)
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "pods", read, "inferencepools", read, "inferenceobjectives", read, "inferencemodelrewrites", read,
                "inferencepools/status", Set.of("patch"), "inferenceobjectives/status", Set.of("patch"),
                "inferencemodelrewrites/status", Set.of("patch"), "services", Set.of("get"),
                "events", Set.of("create")));
    assertThat(rights(chart("defaults").manifest("Role kvasir"))).isEqualTo(Map.of("pods", read));
    assertThat(rights(chart("plaintext-picker").manifest("ClusterRole llm-kvasir in ")))
        .containsOnlyKeys("pods", "inferencepools", "inferenceobjectives", "inferencemodelrewrites");
  }

  /** Nodes may ask about readers of metrics, nobody reads them by the chart alone, and Prometheus shows its token. */
  @Test
  void metrics_areGuardedByKubernetes_whenAskedFor() {
    RenderedChart chart = chart("guarded-metrics");
    assertThat(chart.configuration()).contains("\"metrics-access\": \"kubernetes\"");
    assertThat(rights(chart.manifest("ClusterRole llm-kvasir-reviews in ")))
        .isEqualTo(Map.of("tokenreviews", Set.of("create"), "subjectaccessreviews", Set.of("create")));
    assertThat(chart.manifest("ClusterRoleBinding llm-kvasir-reviews in ").at("/roleRef/name").asText())
        .isEqualTo("llm-kvasir-reviews");
    assertThat(texts(chart.manifest("ClusterRole llm-kvasir-metrics in ").at("/rules/0/nonResourceURLs")))
        .containsExactly("/metrics");
    assertThat(chart.ofKind("ClusterRoleBinding")).hasSize(1);
    assertThat(
            chart.manifest("PodMonitor kvasir")
                .at("/spec/podMetricsEndpoints/0/authorization/credentials/name").asText())
        .isEqualTo("prometheus-token");
    assertThat(chart("defaults").configuration()).doesNotContain("metrics-access");
    assertThat(chart("defaults").ofKind("ClusterRole")).isEmpty();
  }

  private static Map<String, Set<String>> rights(JsonNode role) {
    Map<String, Set<String>> rights = new HashMap<>();
    for (JsonNode rule : role.path("rules")) {
      texts(rule.path("resources")).forEach(resource -> rights.put(resource, Set.copyOf(texts(rule.path("verbs")))));
    }
    return rights;
  }

  @Test
  void autoscaling_asksForMetricsThatNodesHave() throws Exception {
    String metrics = Files.readString(Path.of("cluster-configs/METRICS.md"));
    JsonNode scaled = chart("everything").manifest("ScaledObject vllm").path("spec");
    assertThat(scaled.path("triggers")).hasSize(3);
    for (JsonNode trigger : scaled.path("triggers")) {
      String query = trigger.at("/metadata/query").asText();
      String metric = query.replaceAll(".*\\((kvasir_\\w+)\\{.*", "$1");
      assertThat(metrics).contains("| `" + metric + "` | gauge | ");
      assertThat(query).contains("cluster=\"llm/router\"").as("nothing is no load of 0").doesNotContain(" or ");
      assertThat(trigger.at("/metadata/ignoreNullValues").asText()).isEqualTo("false");
      Pattern workers = Pattern.compile(query.replaceAll(".*worker=~\"([^\"]*)\".*", "$1"));
      assertThat(List.of("vllm-7d9c8b6f5d-x2k4p", "vllm-7d9c8b6f5d-x2k4p:8001", "vllm-7d9c8b6f5d-x2k4p.llm:8001#3"))
          .allMatch(name -> workers.matcher(name).matches());
      assertThat(List.of("vllm-long-7d9c8b6f5d-x2k4p", "vllm-7d9c8b6f5d-x2k4p.other", "my-vllm-7d9c8b6f5d-x2k4p"))
          .noneMatch(name -> workers.matcher(name).matches());
      assertThat(trigger.path("metricType").asText()).isEqualTo("AverageValue");
    }
  }

  @Test
  void autoscaling_toNone_leavesTheNumberToTheNodes() {
    JsonNode scaled = chart("to-zero").manifest("ScaledObject qwen").path("spec");
    assertThat(scaled.path("minReplicaCount").asInt(-1)).isZero();
    assertThat(scaled.at("/triggers/0/type").asText()).isEqualTo("external-push");
    assertThat(scaled.at("/triggers/1/metadata/query").asText()).contains("{namespace=\"llm\", worker");
    JsonNode unset = chart("everything").manifest("ScaledObject llama").path("spec");
    assertThat(unset.path("minReplicaCount").asInt(-1)).isOne();
  }

  /** Kubernetes before 1.33 refuses one of no time. */
  @Test
  void pauseOfNoTime_isNone() {
    assertThat(chart("answers-in-memory").container().has("lifecycle")).isFalse();
  }

  @Test
  void autoscaling_byAModel_asksTheNodes() {
    RenderedChart chart = chart("everything");
    JsonNode trigger = chart.manifest("ScaledObject llama").at("/spec/triggers/0");
    assertThat(trigger.path("type").asText()).isEqualTo("external-push");
    assertThat(trigger.at("/metadata/model").asText()).isEqualTo("meta-llama/Llama");
    assertThat(trigger.at("/metadata/role").asText()).isEqualTo("decode");
    assertThat(trigger.at("/metadata/workersPerReplica").asText()).isEqualTo("2");
    String service = trigger.at("/metadata/scalerAddress").asText().replaceFirst("\\..*", "");
    assertThat(chart.manifest("Service " + service).at("/spec/ports/0/targetPort").asText()).isEqualTo("keda");
    assertThat(chart("defaults").manifests()).doesNotContainKey("Service kvasir-scale");
  }

  @Test
  void anUpgrade_startsANodeBeforeOneGoes_butThoseWithVolumesKeepTheirNames() {
    JsonNode rolling = chart("defaults").nodes().at("/spec/strategy/rollingUpdate");
    assertThat(rolling.path("maxUnavailable").asInt(1)).isZero();
    assertThat(chart("everything").nodes().path("kind").asText()).isEqualTo("StatefulSet");
    assertThat(chart("everything").manifests())
        .containsKey("Service " + chart("everything").nodes().at("/spec/serviceName").asText());
  }

  /** The first line of each file of values that is refused has what is said about it. */
  @Test
  void mistakes_areRefusedInPlainWords() throws Exception {
    Map<String, String> refused = RenderedChart.all().refused();
    Map<String, String> expected = new HashMap<>();
    try (Stream<Path> files = Files.list(RenderedChart.CASES.resolve("refused"))) {
      for (Path file : files.toList()) {
        String words = Files.readAllLines(file).getFirst().replace("# ", "");
        expected.put(file.getFileName().toString().replace(".yaml", ""), words);
      }
    }
    assertThat(refused).containsOnlyKeys(expected.keySet());
    expected.forEach((name, words) -> assertThat(refused.get(name)).contains(words));
  }

  private static List<String> namesOf(JsonNode secret) throws Exception {
    CertificateFactory reader = CertificateFactory.getInstance("X.509");
    X509Certificate certificate =
        (X509Certificate)
            reader.generateCertificate(new ByteArrayInputStream(secret(secret, "tls.crt").getBytes(US_ASCII)));
    return certificate.getSubjectAlternativeNames().stream().map(name -> String.valueOf(name.get(1))).toList();
  }

  private static RenderedChart chart(String name) {
    return Optional.ofNullable(RenderedChart.all().rendered().get(name)).orElseThrow();
  }

  private static JsonNode known(Map<String, JsonNode> manifests, String name) {
    return Optional.ofNullable(manifests.get(name)).orElseThrow();
  }

  private static List<Map.Entry<String, JsonNode>> fields(JsonNode object) {
    return List.copyOf(object.properties());
  }
}
