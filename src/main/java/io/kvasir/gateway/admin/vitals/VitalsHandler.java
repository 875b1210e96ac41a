package io.kvasir.gateway.admin.vitals;

import static io.kvasir.gateway.admin.AdminResponse.object;
import static io.kvasir.gateway.admin.vitals.VitalsJson.rounded;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.EventMode;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminResponse;
import io.kvasir.gateway.admin.AdminRoute;
import io.kvasir.gateway.admin.AdminTopic;
import io.kvasir.gateway.admin.vitals.ClusterVitals.Answers;
import io.kvasir.gateway.admin.vitals.VitalsHistory.Step;
import io.kvasir.telemetry.Problem;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.SequencedMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * {@code /admin/vitals}: what an operator looks at first, the traffic of all nodes in the last seconds with each node's
 * part of it, the fleet and what is wrong; {@code /admin/vitals/history} has the traffic of the last quarter of an
 * hour. Thread-safe.
 */
public final class VitalsHandler implements AdminResource {
  private final ClusterVitals nodes;
  private final Cells cells;
  private final Supplier<ClusterStatus> cluster;
  private final InstantSource clock;

  /**
   * Over the nodes of a cluster.
   *
   * @param cluster a recent description of it
   */
  public VitalsHandler(ClusterVitals nodes, Cells cells, Supplier<ClusterStatus> cluster, InstantSource clock) {
    this.nodes = nodes;
    this.cells = cells;
    this.cluster = cluster;
    this.clock = clock;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get("/admin/vitals", _ -> AdminResponse.ok(vitals())),
        AdminRoute.get("/admin/vitals/history", _ -> AdminResponse.ok(history())));
  }

  /** The vitals of now, to be watched. */
  public AdminTopic topic() {
    return new AdminTopic("vitals", Map.of("by_node", List.of("node")), this::vitals);
  }

  private ObjectNode vitals() {
    Answers<NodeReport> reports = nodes.reports();
    NodeReport self = reports.byNode().firstEntry().getValue();
    VitalFigures sum = VitalFigures.sum(reports.byNode().values().stream().map(NodeReport::figures).toList());
    ObjectNode vitals =
        object()
            .put("time", clock.instant().toString())
            .put("node", self.node())
            .put("version", self.version())
            .put("scope", "cluster")
            .put("window_s", rounded(self.window()));
    VitalsJson.put(vitals, sum);
    ClusterStatus described = cluster.get();
    vitals.putObject("nodes")
        .put("up", described.nodes().stream().filter(node -> node.reachable() && node.state().equals("up")).count())
        .put("known", described.nodes().size())
        .put("counted", reports.byNode().size());
    put(vitals.putArray("by_node"), reports, sum);
    List<WorkerSummary> workers = cells.workers();
    vitals.putObject("workers")
        .put("healthy", workers.stream().filter(each -> each.health() == WorkerStatus.Health.HEALTHY).count())
        .put("known", workers.size())
        .put("draining", workers.stream().filter(WorkerSummary::draining).count());
    vitals.set("sources", sources(described));
    put(vitals.putArray("problems"), problems(reports));
    return vitals;
  }

  /** Each node's own figures, and the share of all requests that it has. */
  private static void put(ArrayNode into, Answers<NodeReport> reports, VitalFigures sum) {
    reports.byNode().forEach((node, report) -> {
      ObjectNode entry = into.addObject().put("node", node).put("answers", true).put("version", report.version());
      double all = sum.of(VitalFigure.REQUESTS);
      VitalsJson.putShare(
          entry,
          "share",
          all > 0 ? OptionalDouble.of(report.figures().of(VitalFigure.REQUESTS) / all) : OptionalDouble.empty());
      VitalsJson.put(entry, report.figures());
    });
    reports.missing().forEach(node -> into.addObject().put("node", node).put("answers", false));
  }

  private static ObjectNode sources(ClusterStatus cluster) {
    Map<EventMode, Long> modes =
        cluster.workers().stream().collect(Collectors.groupingBy(EventMode::of, Collectors.counting()));
    long all = modes.values().stream().mapToLong(Long::longValue).sum();
    return object()
        .put("live", modes.getOrDefault(EventMode.LIVE, 0L))
        .put("silent", modes.getOrDefault(EventMode.SILENT, 0L))
        .put("known", all - modes.getOrDefault(EventMode.APPROXIMATE, 0L));
  }

  /** The problems of all nodes, the worst first, each once with the nodes that have it. */
  private static SequencedMap<Problem, List<String>> problems(Answers<NodeReport> reports) {
    SequencedMap<Problem, List<String>> having = new LinkedHashMap<>();
    reports.byNode().forEach(
        (node, report) ->
            report.problems().forEach(problem -> having.computeIfAbsent(problem, _ -> new ArrayList<>()).add(node)));
    for (String node : reports.missing()) {
      Problem missing =
          Problem.warning(
              "node " + node + " does not tell its figures, so the sums are without it",
              "see whether it runs, and whether its port for nodes can be reached from here");
      having.put(missing, List.of());
    }
    SequencedMap<Problem, List<String>> sorted = new LinkedHashMap<>();
    for (Problem problem : Problem.worstFirst(List.copyOf(having.keySet()))) {
      sorted.put(problem, having.getOrDefault(problem, List.of()));
    }
    return sorted;
  }

  private static void put(ArrayNode into, SequencedMap<Problem, List<String>> problems) {
    problems.forEach((problem, having) -> {
      ObjectNode entry =
          into.addObject()
              .put("severity", problem.severity().name().toLowerCase(Locale.ROOT))
              .put("what", problem.what())
              .put("remedy", problem.remedy());
      having.forEach(entry.putArray("nodes")::add);
    });
  }

  private ObjectNode history() {
    Answers<List<VitalSample>> histories = nodes.histories();
    Instant now = clock.instant();
    ObjectNode body = object().put("scope", "cluster").put("step_s", VitalsMeter.STEP.toSeconds());
    histories.missing().forEach(body.putArray("missing_nodes")::add);
    ArrayNode samples = body.putArray("samples");
    for (Step step : VitalsHistory.of(histories)) {
      ObjectNode entry =
          samples.addObject()
              .put("time", now.minus(Duration.ofMillis(Math.round(1e3 * step.age()))).toString())
              .put("nodes", step.nodes());
      VitalsJson.put(entry, step.figures());
    }
    return body;
  }
}
