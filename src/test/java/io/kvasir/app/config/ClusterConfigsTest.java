package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The sets of cluster-configs but the chart: against schemas, Kvasir's own configuration and each other. */
final class ClusterConfigsTest {
  private static final Path CONFIGS = Path.of("cluster-configs");
  private static final Pattern AMD64 = Pattern.compile("(?i)amd64|x86[-_]?64");
  private static final Pattern ARM64 = Pattern.compile("(?i)arm64|aarch[-_]?64");

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

  /** A build wants base images from a registry: what it copies has to be there, and ImageIT runs its steps. */
  @Test
  void dockerfile_copiesWhatThereIs_andRunsAsNobody() throws Exception {
    List<String> lines = Files.readAllLines(CONFIGS.resolve("Dockerfile"));
    List<String> kept = Files.readAllLines(CONFIGS.resolve("Dockerfile.dockerignore"));
    for (String line : lines) {
      if (line.startsWith("COPY ") && !line.contains("--from=")) {
        List<String> sources = List.of(line.split(" ", -1));
        for (String source : sources.subList(1, sources.size() - 1)) {
          String name = source.replace("[n]", "n");
          assertThat(kept).contains("!" + name);
          assertThat(name.startsWith("target/") || Files.exists(Path.of(name))).as(name).isTrue();
        }
        assertThat(sources.get(1)).as("what is always there, for builders that want a match").doesNotContain("[");
      }
    }
    assertThat(lines)
        .anyMatch(line -> line.matches("USER [1-9]\\d*:[1-9]\\d*"))
        .anyMatch(line -> line.startsWith("RUN ") && line.contains("cluster-configs/image/assemble"))
        .contains("ENTRYPOINT [\"/opt/kvasir/start\"]");
  }

  /** Each builder makes the image of its own kind of machine: what it runs says nothing of the kind. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "cluster-configs/Dockerfile", "cluster-configs/image/assemble", "cluster-configs/image/start", "jvm.flags"
      })
  void stepsOfTheImage_nameNoArchitecture(String file) throws Exception {
    assertThat(Files.readAllLines(Path.of(file)))
        .filteredOn(line -> !line.startsWith("#"))
        .noneMatch(line -> AMD64.matcher(line).find() || ARM64.matcher(line).find());
  }

  /** Libraries that bring machine code bring it for both kinds; one that is new here belongs into this list. */
  @Test
  void librariesWithMachineCode_haveItForBothArchitectures() throws Exception {
    Set<String> onAmd64 = new TreeSet<>();
    Set<String> onArm64 = new TreeSet<>();
    for (String file : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (file.endsWith(".jar")) {
        String library = Path.of(file).getFileName().toString().replaceAll("-\\d.*", "");
        try (ZipFile jar = new ZipFile(file)) {
          List<String> shared =
              jar.stream().map(ZipEntry::getName).filter(name -> name.matches("(?i).*linux.*\\.so")).toList();
          if (shared.stream().anyMatch(name -> AMD64.matcher(name).find())) {
            onAmd64.add(library);
          }
          if (shared.stream().anyMatch(name -> ARM64.matcher(name).find())) {
            onArm64.add(library);
          }
        }
      }
    }
    // Helm, which renders the chart in tests.
    onAmd64.remove("linux-amd64");
    assertThat(onAmd64)
        .containsExactly("bcprov-lts8on", "grpc-netty-shaded", "jffi", "jna", "lmdbjava", "lz4-java", "tokenizers");
    assertThat(onArm64).isEqualTo(onAmd64);
  }
}
