package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminJson.answer;
import static io.kvasir.gateway.admin.AdminJson.error;
import static io.kvasir.gateway.admin.AdminJson.object;
import static io.kvasir.gateway.admin.AdminJson.read;
import static io.kvasir.gateway.admin.AdminJson.wrongMethod;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Handler;
import io.kvasir.routing.ExternalFigures;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * {@code /admin/figures}: takes numbers somebody outside says of workers (POST), which {@code external-metric} scores
 * by, and shows those this node knows (GET). Thread-safe.
 */
public final class FiguresHandler implements Handler {
  /** The path of the figures. */
  public static final String PATH = "/admin/figures";


  private final ExternalFigures figures;
  private final BiConsumer<String, Map<String, Double>> tell;

  /**
   * A handler over a node's figures.
   *
   * @param tell has every node of the cluster take the figures of that name, by worker
   */
  public FiguresHandler(ExternalFigures figures, BiConsumer<String, Map<String, Double>> tell) {
    this.figures = figures;
    this.tell = tell;
  }

  @Override
  public Answer handle(Exchange exchange) {
    if (!exchange.path().equals(PATH)) {
      return error(404, "there is nothing at %s; figures are at %s".formatted(exchange.path(), PATH));
    }
    return switch (exchange.method()) {
      case "GET" -> answer(200, shown());
      case "POST" -> post(exchange.body());
      default -> wrongMethod(exchange, "GET, POST");
    };
  }

  @Override
  public Answer failure(String target, int status, String message) {
    return error(status, message);
  }

  private Answer post(byte[] body) {
    JsonNode tree;
    try {
      tree = read(body);
    } catch (IllegalArgumentException e) {
      return error(400, String.valueOf(e.getMessage()));
    }
    Map<String, Map<String, Double>> said = new TreeMap<>();
    int count = 0;
    for (Map.Entry<String, JsonNode> metric : tree.properties()) {
      Map<String, Double> byWorker = new HashMap<>();
      for (Map.Entry<String, JsonNode> worker : metric.getValue().properties()) {
        if (!worker.getValue().isNumber()) {
          return error(400, "'%s' of '%s' is %s, not a number".formatted(
              metric.getKey(), worker.getKey(), worker.getValue()));
        }
        byWorker.put(worker.getKey(), worker.getValue().doubleValue());
        count++;
      }
      if (!byWorker.isEmpty()) {
        said.put(metric.getKey(), byWorker);
      }
    }
    if (count == 0) {
      return error(400, "the body says nothing; give {\"METRIC\": {\"WORKER\": NUMBER, ...}, ...}");
    }
    said.forEach(tell);
    return answer(202, object().put("figures", count));
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
