package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Metrics and labels that the documents name are those that nodes have. */
final class DocumentedMetricsIT {
  /** A metric, or the beginning of several before an asterisk, with what stands in braces behind it. */
  private static final Pattern METRIC = Pattern.compile("\\b(kvasir_[a-z0-9_]*[a-z0-9])(?![a-z0-9_*])(\\{[^}]*})?");

  private static final Pattern LABEL = Pattern.compile("(\\w+)\\s*(?:=~|!~|!=|=)");

  @Test
  void everyMetricAndLabel_isOneThatNodesHave(@TempDir Path directory) throws Exception {
    PromQlCheck check = new PromQlCheck(MetricCatalog.ofNode(directory), Map.of());
    List<String> faults = new ArrayList<>();
    for (Path document : documents()) {
      Matcher metric = METRIC.matcher(Files.readString(document));
      while (metric.find()) {
        String name = metric.group(1);
        check.faults(new PromQl(name)).forEach(fault -> faults.add(document + ": " + fault));
        if (metric.group(2) != null) {
          LABEL.matcher(metric.group(2)).results()
              .filter(label -> !check.labels(name).contains(label.group(1)))
              .forEach(label -> faults.add("%s: %s has no label %s".formatted(document, name, label.group(1))));
        }
      }
    }
    assertThat(faults).isEmpty();
  }

  private static List<Path> documents() throws Exception {
    List<Path> documents = new ArrayList<>(List.of(Path.of("README.md")));
    for (String directory : new String[] {"conf", "cluster-configs", "load-tests"}) {
      try (Stream<Path> files = Files.find(Path.of(directory), 3, (file, _) -> file.toString().endsWith(".md"))) {
        documents.addAll(files.filter(file -> !file.toString().contains("/.")).toList());
      }
    }
    return documents;
  }
}
