package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminAnswer.object;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.ExternalFigures;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * {@code /admin/figures}: takes numbers somebody outside says of workers (POST), which {@code external-metric} scores
 * by, and shows those this node knows (GET). Thread-safe.
 */
public final class FiguresHandler implements AdminPart {
  private static final String PATH = "/admin/figures";
  private static final String WANTED = "send {\"METRIC\": {\"WORKER\": NUMBER, ...}, ...}";

  private final ExternalFigures figures;
  private final BiConsumer<String, Map<String, Double>> tell;

  /**
   * Over a node's figures.
   *
   * @param tell has every node of the cluster take the figures of that name, by worker
   */
  public FiguresHandler(ExternalFigures figures, BiConsumer<String, Map<String, Double>> tell) {
    this.figures = figures;
    this.tell = tell;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(
        AdminRoute.get(PATH, _ -> AdminAnswer.ok(shown())),
        AdminRoute.post(PATH, this::say));
  }

  private AdminAnswer say(AdminRequest request) throws AdminException {
    ObjectNode tree = request.body(WANTED);
    Map<String, Map<String, Double>> said = new TreeMap<>();
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
        said.put(metric.getKey(), byWorker);
      }
    }
    if (count == 0) {
      throw AdminException.invalid("body", "the body says nothing; " + WANTED);
    }
    said.forEach(tell);
    return new AdminAnswer(202, object().put("figures", count));
  }

  private ObjectNode shown() {
    ObjectNode body = object();
    ArrayNode list = body.putArray("figures");
    for (ExternalFigures.Known known : figures.known(System.nanoTime())) {
      list.addObject()
          .put("metric", known.name())
          .put("worker", known.worker())
          .put("value", known.value())
          .put("age_seconds", known.ageNanos() / 1e9);
    }
    return body;
  }
}
