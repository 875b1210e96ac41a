package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.Certificates;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sets of cluster-configs, against Kubernetes' schemas, Kvasir's own configuration and each other. */
final class ClusterConfigsTest {
  private static final Path CONFIGS = Path.of("cluster-configs");
  private static final Path KUBERNETES = CONFIGS.resolve("kubernetes");
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

  @Test
  void manifests_fitTheSchemas() throws Exception {
    Map<String, JsonNode> manifests = manifests();
    assertThat(manifests)
        .containsKeys(
            "StatefulSet kvasir", "PodDisruptionBudget kvasir", "Service kvasir", "Service kvasir-cluster",
            "ServiceAccount kvasir", "Role kvasir-pod-reader", "RoleBinding kvasir-pod-reader", "ConfigMap kvasir",
            "Deployment vllm", "NetworkPolicy kvasir", "NetworkPolicy kvasir-engines");
    for (JsonNode manifest : manifests.values()) {
      validate(manifest);
    }
  }

  @Test
  void schemas_refuseWhatIsMisspelt() throws Exception {
    String text = Files.readString(KUBERNETES.resolve("kvasir.yaml")).replace("periodSeconds: 3", "periodSecond: 3");
    JsonNode first;
    try (var documents = YAML.readerFor(JsonNode.class).<JsonNode>readValues(text)) {
      first = documents.next();
    }
    assertThatThrownBy(() -> validate(first)).hasMessageContaining("periodSecond");
  }

  @Test
  void names_referToWhatIsThere() throws Exception {
    Map<String, JsonNode> manifests = manifests();
    JsonNode set = manifest(manifests, "StatefulSet kvasir");
    JsonNode pod = set.at("/spec/template/spec");
    JsonNode container = pod.at("/containers/0");
    List<String> ports = container.path("ports").findValuesAsText("name");
    assertThat(container.findParents("httpGet"))
        .hasSize(3)
        .allSatisfy(probe -> {
          assertThat(probe.at("/httpGet/port").asText()).isEqualTo("management").isIn(ports);
          assertThat(probe.at("/httpGet/scheme").asText()).as("the port has TLS").isEqualTo("HTTPS");
        });
    assertThat(manifests).containsKey("Service " + set.at("/spec/serviceName").asText());
    assertThat(manifests).containsKey("ServiceAccount " + pod.path("serviceAccountName").asText());
    assertThat(manifests).containsKey("ConfigMap " + pod.at("/volumes/0/configMap/name").asText());
    JsonNode binding = manifest(manifests, "RoleBinding kvasir-pod-reader");
    assertThat(manifests).containsKey("Role " + binding.at("/roleRef/name").asText());
    assertThat(manifests).containsKey("ServiceAccount " + binding.at("/subjects/0/name").asText());
    for (String service : List.of("Service kvasir", "Service kvasir-cluster")) {
      JsonNode spec = manifest(manifests, service).path("spec");
      assertThat(spec.path("selector")).isEqualTo(set.at("/spec/template/metadata/labels"));
      assertThat(spec.path("ports").findValuesAsText("targetPort")).isNotEmpty().isSubsetOf(ports);
    }
    JsonNode budget = manifest(manifests, "PodDisruptionBudget kvasir");
    assertThat(budget.at("/spec/selector")).isEqualTo(set.at("/spec/selector"));
    Config own = configured();
    long grace = pod.path("terminationGracePeriodSeconds").asLong();
    long pause = container.at("/lifecycle/preStop/sleep/seconds").asLong();
    assertThat(own.getDuration("kvasir.gateway.drain-timeout").toSeconds() + pause + 20)
        .as("draining, and handing cells over, within the grace period")
        .isLessThanOrEqualTo(grace);
    String selector = own.getString("kvasir.pods-from.kubernetes.selector");
    JsonNode labels = manifest(manifests, "Deployment vllm").at("/spec/template/metadata/labels");
    assertThat(labels.path(selector.split("=", 2)[0]).asText()).isEqualTo(selector.split("=", 2)[1]);
  }

  /** As in a pod: with its address, the API within reach, and the secrets' files. */
  @Test
  void configMap_isValid(@TempDir Path directory) throws Exception {
    Certificates made = new Certificates(directory).authority("ca").node("node", "ca").server("management", "ca");
    Path keys = Files.writeString(directory.resolve("keys.conf"), "keys = []");
    KvasirConfig config =
        KvasirConfig.of(
            ConfigFactory.parseString(
                    """
                    kvasir { cluster.host = 10.0.0.1, pods-from.kubernetes { api = "http://10.0.0.2", namespace = n } }
                    kvasir.access.keys-file = "%s"
                    kvasir.management.tls { certificate = "%s", key = "%s" }
                    """
                        .formatted(keys, made.certificate("management"), made.key("management")))
                .withFallback(
                    ConfigFactory.parseString(
                        "kvasir {\n"
                            + ClusterReaderTest.tls(made.certificate("node"), made.key("node"), made.certificate("ca"))
                            + "}"))
                .withFallback(configured()));
    assertThat(config.cluster().discovery()).isEqualTo(NodeDiscovery.KUBERNETES);
    assertThat(config.fleet().discovery().kubernetes()).isNotNull();
    assertThat(config.source().platform().getString("pekko.remote.artery.transport")).isEqualTo("tls-tcp");
    assertThat(config.operations().management().tls()).as("the admin key is not sent in the clear").isNotNull();
    assertThat(config.gateway().http().host()).as("reached by clients, since there are keys").isEqualTo("0.0.0.0");
  }

  @Test
  void filesOfTheConfigMap_areInMountedSecrets() throws Exception {
    Map<String, JsonNode> manifests = manifests();
    JsonNode pod = manifest(manifests, "StatefulSet kvasir").at("/spec/template/spec");
    Map<String, String> volumes = new HashMap<>();
    for (JsonNode volume : pod.path("volumes")) {
      volumes.put(volume.path("name").asText(), volume.at("/secret/secretName").asText());
      assertThat(volume.at("/secret/optional").asBoolean()).isFalse();
    }
    Map<String, String> mounted = new HashMap<>();
    for (JsonNode mount : pod.at("/containers/0/volumeMounts")) {
      mounted.put(mount.path("mountPath").asText(), volumes.getOrDefault(mount.path("name").asText(), ""));
    }
    Config own = configured();
    String readme = Files.readString(KUBERNETES.resolve("README.md"));
    Map<String, String> files =
        Map.of(
            "kvasir.cluster.tls.certificate", "kvasir-cluster-tls",
            "kvasir.cluster.tls.key", "kvasir-cluster-tls",
            "kvasir.cluster.tls.authority", "kvasir-cluster-tls",
            "kvasir.management.tls.certificate", "kvasir-management-tls",
            "kvasir.management.tls.key", "kvasir-management-tls",
            "kvasir.access.keys-file", "kvasir-keys");
    files.forEach((setting, secret) -> {
      Path file = Path.of(own.getString(setting));
      assertThat(mounted).as(setting).containsEntry(String.valueOf(file.getParent()), secret);
      assertThat(readme).contains("secret generic " + secret).contains("--from-file=" + file.getFileName());
    });
    Map<String, JsonNode> issued = read(KUBERNETES.resolve("cert-manager"));
    JsonNode certificate = manifest(issued, "Certificate kvasir-cluster-tls");
    assertThat(certificate.at("/spec/secretName").asText()).isEqualTo("kvasir-cluster-tls");
    assertThat(certificate.at("/spec/privateKey/algorithm").asText()).isEqualTo("RSA");
    JsonNode management = manifest(issued, "Certificate kvasir-management-tls");
    assertThat(management.at("/spec/secretName").asText()).isEqualTo("kvasir-management-tls");
    assertThat(texts(management.at("/spec/dnsNames")))
        .as("no name by which a router knows another")
        .contains("localhost")
        .doesNotContainAnyElementsOf(texts(certificate.at("/spec/dnsNames")));
  }

  @Test
  void certManager_issuersAreThere() throws Exception {
    Map<String, JsonNode> manifests = read(KUBERNETES.resolve("cert-manager"));
    List<String> secrets = manifests.values().stream().map(each -> each.at("/spec/secretName").asText()).toList();
    for (JsonNode each : manifests.values()) {
      JsonNode issuer = each.at("/spec/issuerRef");
      if (!issuer.isMissingNode()) {
        assertThat(manifests).containsKey(issuer.path("kind").asText() + " " + issuer.path("name").asText());
      }
      JsonNode authority = each.at("/spec/ca/secretName");
      if (!authority.isMissingNode()) {
        assertThat(secrets).contains(authority.asText());
      }
    }
  }

  /** Every port is somebody's, those between routers are theirs alone, and nobody from elsewhere is let in. */
  @Test
  void networkPolicy_coversEveryPort() throws Exception {
    Map<String, JsonNode> manifests = manifests();
    JsonNode policy = manifest(manifests, "NetworkPolicy kvasir").path("spec");
    JsonNode set = manifest(manifests, "StatefulSet kvasir");
    assertThat(policy.path("podSelector")).isEqualTo(set.at("/spec/selector"));
    assertThat(texts(policy.path("policyTypes"))).containsExactly("Ingress", "Egress");
    Map<String, List<JsonNode>> peers = new HashMap<>();
    for (JsonNode rule : policy.path("ingress")) {
      assertThat(rule.path("ports")).as("each rule names its ports").isNotEmpty();
      assertThat(rule.path("from")).as("nobody from everywhere").isNotEmpty();
      for (JsonNode port : rule.path("ports")) {
        List<JsonNode> known = peers.computeIfAbsent(port.path("port").asText(), _ -> new ArrayList<>());
        rule.path("from").forEach(known::add);
      }
    }
    JsonNode ports = set.at("/spec/template/spec/containers/0/ports");
    assertThat(peers.keySet()).containsExactlyInAnyOrderElementsOf(ports.findValuesAsText("name"));
    for (String service : List.of("Service kvasir", "Service kvasir-cluster")) {
      JsonNode served = manifest(manifests, service).at("/spec/ports");
      assertThat(peers.keySet()).containsAll(served.findValuesAsText("targetPort"));
    }
    JsonNode routers = YAML.createObjectNode().set("podSelector", set.at("/spec/selector"));
    assertThat(peers.get("remoting")).containsExactly(routers);
    assertThat(peers.get("lines")).containsExactly(routers);
    assertThat(peers.get("management")).contains(routers).hasSize(2);

    List<Integer> between = new ArrayList<>();
    for (JsonNode rule : policy.path("egress")) {
      if (rule.path("to").path(0).equals(routers)) {
        rule.path("ports").forEach(port -> between.add(port.path("port").asInt()));
      }
    }
    JsonNode own = manifest(manifests, "Service kvasir-cluster").at("/spec/ports");
    assertThat(between).containsExactlyElementsOf(
        own.findValues("port").stream().map(JsonNode::asInt).toList());
  }

  @Test
  void networkPolicy_ofEngines_letsRoutersIn() throws Exception {
    Map<String, JsonNode> manifests = manifests();
    JsonNode engines = manifest(manifests, "NetworkPolicy kvasir-engines").path("spec");
    String[] selector = configured().getString("kvasir.pods-from.kubernetes.selector").split("=", 2);
    JsonNode labels = engines.at("/podSelector/matchLabels");
    assertThat(labels.path(selector[0]).asText()).isEqualTo(selector[1]);
    assertThat(engines.at("/ingress/0/from/0/podSelector"))
        .isEqualTo(manifest(manifests, "StatefulSet kvasir").at("/spec/selector"));
    assertThat(manifest(manifests, "NetworkPolicy kvasir").at("/spec/egress").findValues("matchLabels"))
        .contains(labels);
  }

  /** What the Pod Security Standard "restricted" asks for, and a root file system that nobody writes to. */
  @Test
  void routers_runRestricted() throws Exception {
    JsonNode pod = manifest(manifests(), "StatefulSet kvasir").at("/spec/template/spec");
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
  }

  @Test
  void localSet_isValid() throws Exception {
    for (int node = 1; node <= 3; node++) {
      KvasirConfig config = KvasirConfig.load(CONFIGS.resolve("local/node-" + node + ".conf"));
      assertThat(config.fleet().pods()).hasSize(4);
      assertThat(config.operations().management().port()).isEqualTo(7625 + node);
    }
  }

  /** It cannot be built here: what it copies has to be there, and it starts Kvasir as the launcher does. */
  @Test
  void dockerfile_copiesWhatThereIs_andStartsAsTheLauncherDoes() throws Exception {
    List<String> lines = Files.readAllLines(CONFIGS.resolve("Dockerfile"));
    List<String> kept = Files.readAllLines(CONFIGS.resolve("Dockerfile.dockerignore"));
    for (String line : lines) {
      if (line.startsWith("COPY ")) {
        String source = line.split(" ", -1)[1];
        assertThat(kept).contains("!" + source);
        assertThat(source.startsWith("target/") || Files.exists(Path.of(source))).as(source).isTrue();
      }
    }
    assertThat(lines).anyMatch(line -> line.matches("USER [1-9]\\d*:[1-9]\\d*"));
    String entry = lines.stream().filter(line -> line.startsWith("ENTRYPOINT ")).findFirst().orElseThrow();
    JsonNode command = new ObjectMapper().readTree(entry.substring("ENTRYPOINT ".length()));
    assertThat(command.isArray()).isTrue();
    Matcher flags =
        Pattern.compile("flags=\\(\\n(.*?)\\n\\)", Pattern.DOTALL).matcher(Files.readString(Path.of("kvasir")));
    assertThat(flags.find()).isTrue();
    assertThat(flags.group(1).lines().map(String::strip).filter(flag -> !flag.startsWith("-Dkvasir.home")))
        .isNotEmpty()
        .allSatisfy(flag -> assertThat(command.get(2).textValue()).contains(flag));
  }

  private static Config configured() throws IOException {
    return ConfigFactory.parseString(
        manifest(manifests(), "ConfigMap kvasir").path("data").path("kvasir.conf").textValue());
  }

  private static JsonNode manifest(Map<String, JsonNode> manifests, String name) {
    return Optional.ofNullable(manifests.get(name)).orElseThrow();
  }

  private static List<String> texts(JsonNode list) {
    List<String> texts = new ArrayList<>();
    list.forEach(each -> texts.add(each.asText()));
    return texts;
  }

  private static Map<String, JsonNode> manifests() throws IOException {
    return read(KUBERNETES);
  }

  private static Map<String, JsonNode> read(Path directory) throws IOException {
    Map<String, JsonNode> manifests = new TreeMap<>();
    List<Path> files;
    try (Stream<Path> all = Files.list(directory)) {
      files = all.filter(file -> file.toString().endsWith(".yaml")).toList();
    }
    for (Path file : files) {
      try (var documents = YAML.readerFor(JsonNode.class).<JsonNode>readValues(file.toFile())) {
        List<JsonNode> read = new ArrayList<>(documents.readAll());
        read.forEach(each ->
            manifests.put(each.path("kind").asText() + " " + each.at("/metadata/name").asText(), each));
      }
    }
    return manifests;
  }

  /** By the model of its kind, which Kubernetes generates from the schemas: unknown and missing fields are faults. */
  private static void validate(JsonNode manifest) throws Exception {
    Class<?> model = Class.forName("io.kubernetes.client.openapi.models.V1" + manifest.path("kind").asText());
    try {
      model.getMethod("validateJsonElement", JsonElement.class)
          .invoke(null, JsonParser.parseString(manifest.toString()));
    } catch (InvocationTargetException wrong) {
      throw new AssertionError(wrong.getCause());
    }
  }
}
