package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.ExternalMetrics;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * {@code /admin/figures}: takes figures that a system outside reports for workers (POST), which {@code external-metric}
 * scores by, and shows those this node knows (GET). Thread-safe.
 */
public final class ExternalMetricsHandler implements AdminResource {
  private static final String PATH = "/admin/figures";
  private static final String EXPECTED = "send {\"METRIC\": {\"WORKER\": NUMBER, ...}, ...}";

  private final ExternalMetrics figures;
  private final BiConsumer<String, Map<String, Double>> broadcast;

  /**
   * Over a node's figures.
   *
   * @param broadcast sends the figures of a name, by worker, to every node of the cluster
   */
  public ExternalMetricsHandler(ExternalMetrics figures, BiConsumer<String, Map<String, Double>> broadcast) {
    this.figures = figures;
    this.broadcast = broadcast;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get(PATH, _ -> AdminResponse.ok(shown())),
        AdminRoute.post(PATH, this::publish));
  }

  private AdminResponse publish(AdminRequest request) throws AdminException {
    ObjectNode tree = request.body(EXPECTED);
    Map<String, Map<String, Double>> reported = new TreeMap<>();
    int count = 0;
    for (Map.Entry<String, JsonNode> metric : tree.properties()) {
      Map<String, Double> byWorker = new HashMap<>();
      for (Map.Entry<String, JsonNode> worker : metric.getValue().properties()) {
        if (!worker.getValue().isNumber()) {
          throw AdminException.invalid(
              metric.getKey() + "." + worker.getKey(),
              "'%s' of '%s' is %s, not a number".formatted(metric.getKey(), worker.getKey(), worker.getValue()));
        }
        byWorker.put(worker.getKey(), worker.getValue().doubleValue());
        count++;
      }
      if (!byWorker.isEmpty()) {
        reported.put(metric.getKey(), byWorker);
      }
    }
    if (count == 0) {
      throw AdminException.invalid("body", "the body is empty; " + EXPECTED);
    }
    reported.forEach(broadcast);
    return new AdminResponse(202, object().put("figures", count));
  }

  private ObjectNode shown() {
    ObjectNode body = object();
    ArrayNode list = body.putArray("figures");
    for (ExternalMetrics.CurrentValue known : figures.currentValues(System.nanoTime())) {
      list.addObject()
          .put("metric", known.name())
          .put("worker", known.worker())
          .put("value", known.value())
          .put("age_seconds", known.ageNanos() / 1e9);
    }
    return body;
  }
}
