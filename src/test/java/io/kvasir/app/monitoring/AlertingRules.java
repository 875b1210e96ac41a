package io.kvasir.app.monitoring;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The rules of {@code cluster-configs/prometheus}. */
final class AlertingRules {
  static final Path DIRECTORY = Path.of("cluster-configs/prometheus");

  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());

  private final List<JsonNode> rules = new ArrayList<>();

  private AlertingRules() {}

  static AlertingRules read() throws IOException {
    AlertingRules read = new AlertingRules();
    for (JsonNode group : yaml(DIRECTORY.resolve("kvasir.rules.yaml")).path("groups")) {
      group.path("rules").forEach(read.rules::add);
    }
    return read;
  }

  static JsonNode yaml(Path file) throws IOException {
    return YAML.readTree(file.toFile());
  }

  List<JsonNode> all() {
    return rules;
  }

  List<JsonNode> alerts() {
    return rules.stream().filter(rule -> rule.has("alert")).toList();
  }

  /** What is recorded, with its labels: all that the aggregations of its expression leave. */
  Map<String, Set<String>> recorded() {
    Map<String, Set<String>> recorded = new HashMap<>();
    for (JsonNode rule : rules) {
      if (rule.has("record")) {
        Set<String> labels = new HashSet<>(new PromQl(rule.path("expr").asText()).resultLabels(_ -> Set.of()));
        labels.remove("le");
        recorded.put(rule.path("record").asText(), labels);
      }
    }
    return recorded;
  }
}
