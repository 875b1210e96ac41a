package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.TestPrograms;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The rules of {@code cluster-configs/prometheus}: about metrics that nodes have, and each alert with a test. */
final class AlertingRulesIT {
  private static final Pattern TEMPLATE_LABEL = Pattern.compile("\\$labels\\.(\\w+)");

  private static final Pattern COUNTED =
      Pattern.compile(
          "increase\\((?<counter>\\w+)\\{(?<label>\\w+)=~?\"(?<values>[^\"]*)\"}\\[\\w+]\\)\\) > 0");

  @Test
  void everyMetricAndLabel_isOneThatNodesHave(@TempDir Path directory) throws Exception {
    AlertingRules rules = AlertingRules.read();
    PromQlCheck check = new PromQlCheck(MetricCatalog.ofNode(directory), rules.recorded());
    List<String> faults = new ArrayList<>();
    for (JsonNode rule : rules.all()) {
      PromQl expression = new PromQl(rule.path("expr").asText());
      assertThat(expression.selectors()).as(expression.toString()).isNotEmpty();
      check.faults(expression).forEach(fault -> faults.add(expression + ": " + fault));
      TEMPLATE_LABEL.matcher(rule.path("annotations").toString()).results()
          .map(label -> label.group(1))
          .filter(label -> !expression.resultLabels(check::labels).contains(label))
          .forEach(label -> faults.add(expression + ": the alert has no label " + label + " for its text"));
    }
    assertThat(faults).isEmpty();
  }

  /** An increase from nothing to 1 is none to Prometheus: the first of what an alert counts would be missed. */
  @Test
  void whatAnAlertCounts_isThereBeforeItHappens(@TempDir Path directory) throws Exception {
    MetricCatalog node = MetricCatalog.ofNode(directory);
    List<String> missing = new ArrayList<>();
    for (JsonNode alert : AlertingRules.read().alerts()) {
      COUNTED.matcher(alert.path("expr").asText()).results()
          // Those of event streams begin with the first stream of a kind.
          .filter(counted -> !counted.group("counter").startsWith("kvasir_events_"))
          .forEach(counted -> {
            for (String value : counted.group("values").split("\\|", -1)) {
              if (!node.hasAtStart(counted.group("counter"), counted.group("label"), value)) {
                missing.add(counted.group("counter") + " " + value);
              }
            }
          });
    }
    assertThat(missing).isEmpty();
    assertThat(node.hasAtStart("kvasir_reservations_reclaimed_total", "by", "lease")).isTrue();
    assertThat(node.hasAtStart("kvasir_trace_spans_total", "result", "dropped")).isTrue();
  }

  @Test
  void everyAlert_saysHowBadItIs_andWhatToDo() throws Exception {
    for (JsonNode alert : AlertingRules.read().alerts()) {
      String name = alert.path("alert").asText();
      assertThat(alert.at("/labels/severity").asText()).as(name).isIn("critical", "warning", "info");
      for (String annotation : List.of("summary", "description", "action")) {
        assertThat(alert.path("annotations").path(annotation).asText()).as(name + " " + annotation).matches(".+[.?]");
      }
    }
  }

  @Test
  void everyAlert_isTested() throws Exception {
    Set<String> tested = new TreeSet<>();
    AlertingRules.yaml(AlertingRules.DIRECTORY.resolve("kvasir.rules.test.yaml")).path("tests")
        .forEach(test -> tested.add(test.path("name").asText()));
    assertThat(AlertingRules.read().alerts()).extracting(alert -> alert.path("alert").asText())
        .isSubsetOf(tested);
  }

  @Test
  void promtool_testsTheRules() throws Exception {
    promtool("check", "rules", "kvasir.rules.yaml");
    promtool("test", "rules", "kvasir.rules.test.yaml");
  }

  private static void promtool(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of(TestPrograms.pathOrSkip("promtool")));
    command.addAll(List.of(arguments));
    Process run =
        new ProcessBuilder(command).directory(AlertingRules.DIRECTORY.toFile()).redirectErrorStream(true).start();
    String output = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(run.waitFor()).as(String.join(" ", command) + ": " + output).isZero();
  }
}
