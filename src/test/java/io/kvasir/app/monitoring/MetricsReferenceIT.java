package io.kvasir.app.monitoring;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The reference of metrics, {@code cluster-configs/METRICS.md}, is what a node registers. */
final class MetricsReferenceIT {
  private static final Path REFERENCE = Path.of("cluster-configs/METRICS.md");

  /** Sections of the reference, by what the names of their metrics begin with. */
  private static final Map<String, String> SECTIONS = new LinkedHashMap<>();

  static {
    SECTIONS.put(
        "Requests",
        "requests|request_|ttft_|stage_|client_aborts|keep_alives|reserved_fields|refusals|unread_bodies|stored_"
            + "|websocket");
    SECTIONS.put("Tokens and what is cached of them", "cached_|prediction|usage_|regret");
    SECTIONS.put("Prompts", "prompt|prepar");
    SECTIONS.put("Decisions", "decisions_|routing_|fallback_|remote_|cost_|profiles_|semantic_|session_");
    SECTIONS.put(
        "Workers",
        "worker_|engine_|attempts_|retries_|hedges_|legs_|splits_|steps_|workflows|resumes_|quarantine|pod_"
            + "|prefix_hold");
    SECTIONS.put("Events and the index", "events_|index_");
    SECTIONS.put("Cells and nodes", "cell_|cluster_|standby_|reservations_|discovery_|kubernetes_");
    SECTIONS.put("Autoscaling", "scale_");
    SECTIONS.put("Programs", "programs|program_");
    SECTIONS.put("Callers and limits", "keys|jwks_|authentications_|limit_|tenant|admission_");
    SECTIONS.put("Response cache", "answer_cache_");
    SECTIONS.put("LMCache", "lmcache_");
    SECTIONS.put("Endpoint picker", "picker_");
    SECTIONS.put("Connections and memory of the gateway", "http_");
    SECTIONS.put("Administration, logs and traces", "admin_|console_|access_log|audit_|decision_log|trac|span|log_");
  }

  private static MetricCatalog catalog;

  @BeforeAll
  static void start(@TempDir Path directory) throws Exception {
    catalog = MetricCatalog.ofNode(directory);
  }

  @Test
  void reference_isCurrent() throws IOException {
    GeneratedFile.assertCurrent(REFERENCE, reference());
  }

  /** The node above has every part switched on: no name in the sources is missing. */
  @Test
  void everyNameInTheSources_isRegistered() throws IOException {
    Pattern literal = Pattern.compile("\"(kvasir_[a-z0-9_]*[a-z0-9])\"");
    TreeSet<String> missing = new TreeSet<>();
    try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        literal.matcher(Files.readString(file)).results()
            .map(found -> found.group(1))
            .filter(name -> catalog.family(name).isEmpty() && catalog.family(name + "_total").isEmpty())
            .forEach(missing::add);
      }
    }
    assertThat(missing).isEmpty();
  }

  private static String reference() {
    List<MetricFamily> left = new ArrayList<>(catalog.own());
    StringBuilder text = new StringBuilder(
        """
        # Metrics

        What a node shows at `/metrics` of its management port, of Kvasir itself; `jvm_*` and `process_*` are of
        [Prometheus' Java client](https://prometheus.github.io/client_java/instrumentation/jvm/). This file is generated
        from the code, and the build fails when it is out of date. A histogram has the series `_bucket`, `_sum` and
        `_count`. Gauges of cells, workers, standbys and the index are shown by the node where the cell is at home.
        """);
    SECTIONS.forEach((section, names) -> {
      Pattern of = Pattern.compile("kvasir_(" + names + ").*");
      List<MetricFamily> here = left.stream().filter(family -> of.matcher(family.name()).matches()).toList();
      left.removeAll(here);
      text.append("\n## ").append(section).append("\n\n| metric | type | unit | labels | |\n|---|---|---|---|---|\n");
      here.forEach(family -> text.append(row(family)));
    });
    assertThat(left).as("metrics without a section: add the beginning of their names to one").isEmpty();
    return text.toString();
  }

  private static String row(MetricFamily family) {
    return "| `%s` | %s | %s | %s | %s |%n".formatted(
        family.name(),
        family.typeName(),
        family.unit(),
        family.labels().stream().map(label -> "`" + label + "`").collect(joining(", ")),
        family.help().replace("|", "\\|"));
  }
}
