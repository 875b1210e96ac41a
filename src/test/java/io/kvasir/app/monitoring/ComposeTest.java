package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.cell.PodSpec;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/** The set of {@code cluster-configs/compose}: its containers find their files and each other. */
final class ComposeTest {
  private static final Path DIRECTORY = Path.of("cluster-configs/compose");
  private static final ObjectMapper JSON = new ObjectMapper();

  @Test
  void whatIsMounted_isThere_orAVolume() throws IOException {
    JsonNode compose = compose();
    for (Map.Entry<String, JsonNode> service : compose.path("services").properties()) {
      for (JsonNode mount : service.getValue().path("volumes")) {
        String source = mount.asText().split(":", -1)[0];
        if (source.startsWith(".")) {
          assertThat(DIRECTORY.resolve(source)).as(service.getKey()).exists();
          assertThat(mount.asText()).as(service.getKey()).endsWith(":ro");
        } else {
          assertThat(compose.path("volumes").has(source)).as(service.getKey() + " " + source).isTrue();
        }
      }
    }
    JsonNode build = compose.at("/services/router-1/build");
    Path context = DIRECTORY.resolve(build.path("context").asText());
    assertThat(context.resolve(build.path("dockerfile").asText())).exists();
    assertThat(DIRECTORY.resolve("start")).isExecutable();
  }

  @Test
  void ports_areThisMachinesOnly_andNoneTwice() throws IOException {
    List<String> published = new ArrayList<>();
    compose().path("services").forEach(service -> service.path("ports").forEach(port -> published.add(port.asText())));
    assertThat(published).isNotEmpty().allMatch(port -> port.startsWith("127.0.0.1:"));
    assertThat(published).extracting(port -> port.split(":", -1)[1]).doesNotHaveDuplicates();
  }

  @Test
  void names_areThoseOfServices() throws Exception {
    Set<String> services = new TreeSet<>();
    compose().path("services").fieldNames().forEachRemaining(services::add);
    compose().path("services").forEach(service ->
        service.path("depends_on").forEach(other -> assertThat(services).contains(other.asText())));

    KvasirConfig routers =
        KvasirConfig.of(
            ConfigFactory.parseString("kvasir.cluster.host = router-1")
                .withFallback(ConfigFactory.parseFile(DIRECTORY.resolve("router.conf").toFile())));
    assertThat(routers.fleet().pods()).hasSize(4).extracting(PodSpec::name).isSubsetOf(services);
    assertThat(routers.fleet().pods()).extracting(pod -> URI.create(pod.url().toString()).getHost())
        .isSubsetOf(services);
    for (JsonNode node : AlertingRules.yaml(DIRECTORY.resolve("targets.yaml")).path(0).path("targets")) {
      String[] target = node.asText().split(":", -1);
      assertThat(services).contains(target[0]);
      assertThat(target[1]).isEqualTo(Integer.toString(routers.operations().management().port()));
      assertThat(compose().at("/services/" + target[0] + "/environment/KVASIR_CLUSTER_HOST").asText())
          .isEqualTo(target[0]);
    }
  }

  @Test
  void grafana_findsDataSourceAndDashboards() throws IOException {
    Path provisioning = Path.of("cluster-configs/grafana/provisioning");
    JsonNode source = AlertingRules.yaml(provisioning.resolve("datasources/prometheus.yaml")).at("/datasources/0");
    assertThat(compose().path("services").has(URI.create(source.path("url").asText()).getHost())).isTrue();
    String dashboards =
        AlertingRules.yaml(provisioning.resolve("dashboards/kvasir.yaml")).at("/providers/0/options/path").asText();
    JsonNode grafana = compose().at("/services/grafana");
    assertThat(grafana.path("volumes")).anyMatch(mount -> mount.asText().equals("../grafana:" + dashboards + ":ro"));
    String home = grafana.at("/environment/GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH").asText();
    assertThat(Path.of("cluster-configs/grafana").resolve(Path.of(dashboards).relativize(Path.of(home)))).exists();
  }

  /** With the anchors and merges that Compose resolves, too. */
  private static JsonNode compose() throws IOException {
    Object read = new Yaml().load(Files.readString(DIRECTORY.resolve("compose.yaml")));
    return JSON.valueToTree(read);
  }
}
