package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The dashboards of {@code cluster-configs/grafana} are those of their descriptions, about metrics that nodes have. */
final class DashboardsIT {
  private static final Path GRAFANA = Path.of("cluster-configs/grafana");
  private static final ObjectMapper YAML =
      new ObjectMapper(YAMLFactory.builder().enable(YAMLParser.Feature.PARSE_BOOLEAN_LIKE_WORDS_AS_STRINGS).build());
  private static final Pattern LEGEND_LABEL = Pattern.compile("\\{\\{(\\w+)}}");

  private static PromQlCheck check;

  @BeforeAll
  static void start(@TempDir Path directory) throws Exception {
    check = new PromQlCheck(MetricCatalog.ofNode(directory), Map.of());
  }

  @Test
  void dashboards_areThoseOfTheirDescriptions() throws IOException {
    Map<Path, String> dashboards = new TreeMap<>();
    for (Map.Entry<String, JsonNode> source : sources().entrySet()) {
      Dashboard dashboard =
          new Dashboard(
              source.getKey(),
              source.getValue(),
              metric -> DashboardVariables.matchers(check.labels(metric)));
      dashboards.put(GRAFANA.resolve(source.getKey() + ".json"), dashboard.json());
    }
    GeneratedFile.assertCurrent(dashboards);
  }

  @Test
  void noDashboardIsLeftWithoutADescription() throws IOException {
    try (Stream<Path> files = Files.list(GRAFANA)) {
      assertThat(files.map(file -> file.getFileName().toString()).filter(file -> file.endsWith(".json")))
          .containsExactlyInAnyOrderElementsOf(sources().keySet().stream().map(name -> name + ".json").toList());
    }
  }

  @Test
  void everyMetricAndLabel_isOneThatNodesHave() throws IOException {
    List<String> faults = new ArrayList<>();
    DashboardVariables.queried().forEach((label, metric) -> {
      faults.addAll(check.faults(metric));
      assertThat(check.labels(metric.selectors().getFirst().metric())).contains(label);
    });
    for (Map.Entry<String, JsonNode> source : sources().entrySet()) {
      for (Map.Entry<String, PromQl> query : Dashboard.queries(source.getValue())) {
        List<String> found = new ArrayList<>(check.faults(query.getValue()));
        LEGEND_LABEL.matcher(query.getKey()).results()
            .map(label -> label.group(1))
            .filter(label -> !query.getValue().resultLabels(check::labels).contains(label))
            .forEach(label -> found.add("the result has no label " + label + " for its legend"));
        assertThat(query.getValue().selectors()).as(query.getValue().toString()).isNotEmpty();
        found.forEach(fault -> faults.add("%s: %s: %s".formatted(source.getKey(), query.getValue(), fault)));
      }
    }
    assertThat(faults).isEmpty();
  }

  private static Map<String, JsonNode> sources() throws IOException {
    Map<String, JsonNode> sources = new TreeMap<>();
    try (Stream<Path> files = Files.list(GRAFANA.resolve("source"))) {
      for (Path file : files.toList()) {
        String name = file.getFileName().toString().replaceFirst("\\.yaml$", "");
        sources.put(name, YAML.readTree(file.toFile()));
      }
    }
    return sources;
  }
}
