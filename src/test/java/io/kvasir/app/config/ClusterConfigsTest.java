package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The sets of cluster-configs but the chart: against schemas, Kvasir's own configuration and each other. */
final class ClusterConfigsTest {
  private static final Path CONFIGS = Path.of("cluster-configs");

  /** The example of an engine has what the chart looks for. */
  @Test
  void engine_isFoundByTheChart() throws Exception {
    JsonNode engine = RenderedChart.YAML.readTree(CONFIGS.resolve("helm/engines/vllm.yaml").toFile());
    new ManifestSchemas().check(engine);
    JsonNode values = RenderedChart.YAML.readTree(RenderedChart.CHART.resolve("values.yaml").toFile());
    String[] selector = values.at("/engines/selector").asText().split("=", 2);
    assertThat(engine.at("/spec/template/metadata/labels").path(selector[0]).asText()).isEqualTo(selector[1]);
    assertThat(engine.at("/spec/template/spec/containers/0/ports").findValuesAsText("name"))
        .containsExactly("http", "kv-events", "kv-replay");
  }

  /** They are what the chart renders; a copy is made by hand, so that it is read. */
  @ParameterizedTest
  @ValueSource(strings = {"base", "picker"})
  void kustomize_isTheChart(String directory) throws Exception {
    RenderedChart chart =
        Optional.ofNullable(RenderedChart.all().rendered().get("kustomize-" + directory)).orElseThrow();
    Path committed = CONFIGS.resolve("kustomize").resolve(directory).resolve("kvasir.yaml");
    assertThat(RenderedChart.read(committed))
        .as("copy " + chart.file() + " to " + committed)
        .isEqualTo(chart.manifests());
  }

  @Test
  void localSet_isValid() throws Exception {
    for (int node = 1; node <= 3; node++) {
      KvasirConfig config = KvasirConfig.load(CONFIGS.resolve("local/node-" + node + ".conf"));
      assertThat(config.fleet().pods()).hasSize(4);
      assertThat(config.operations().management().port()).isEqualTo(7625 + node);
    }
  }

  /** It cannot be built here: what it copies has to be there, and ImageIT runs its steps. */
  @Test
  void dockerfile_copiesWhatThereIs_andRunsAsNobody() throws Exception {
    List<String> lines = Files.readAllLines(CONFIGS.resolve("Dockerfile"));
    List<String> kept = Files.readAllLines(CONFIGS.resolve("Dockerfile.dockerignore"));
    for (String line : lines) {
      if (line.startsWith("COPY ") && !line.contains("--from=")) {
        String source = line.split(" ", -1)[1].replace("[n]", "n");
        assertThat(kept).contains("!" + source);
        assertThat(source.startsWith("target/") || Files.exists(Path.of(source))).as(source).isTrue();
      }
    }
    assertThat(lines)
        .anyMatch(line -> line.matches("USER [1-9]\\d*:[1-9]\\d*"))
        .anyMatch(line -> line.startsWith("RUN ") && line.contains("cluster-configs/image/assemble"))
        .contains("ENTRYPOINT [\"/opt/kvasir/start\"]");
  }
}
