package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminJson.answer;
import static io.kvasir.gateway.admin.AdminJson.error;
import static io.kvasir.gateway.admin.AdminJson.object;
import static io.kvasir.gateway.admin.AdminJson.read;
import static io.kvasir.gateway.admin.AdminJson.wrongMethod;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.gateway.http.Answer;
import io.kvasir.gateway.http.Exchange;
import io.kvasir.gateway.http.Handler;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /admin/workers}: lists workers (GET), adds a pod (POST), removes one at once (DELETE
 * {@code /admin/workers/POD}) or lets it finish first (POST {@code /admin/workers/POD/drain}). {@code /admin/cluster}
 * (GET) has nodes and cells, too. Any node answers for all. Thread-safe.
 */
public final class AdminHandler implements Handler {
  /** The path of the list. */
  public static final String PATH = "/admin/workers";

  /** The path of the cluster's state. */
  public static final String CLUSTER = "/admin/cluster";

  private static final Logger LOG = LoggerFactory.getLogger(AdminHandler.class);
  private static final String DRAIN = "/drain";

  private final Cells cells;
  private final PodDefaults defaults;

  /** A handler over the fleet. */
  public AdminHandler(Cells cells, PodDefaults defaults) {
    this.cells = cells;
    this.defaults = defaults;
  }

  @Override
  public Answer handle(Exchange exchange) {
    String path = exchange.path();
    String method = exchange.method();
    if (path.equals(PATH)) {
      return switch (method) {
        case "GET" -> answer(200, FleetJson.workers(cells.workers()));
        case "POST" -> add(exchange.body());
        default -> wrongMethod(exchange, "GET, POST");
      };
    }
    if (path.equals(CLUSTER)) {
      return method.equals("GET") ? answer(200, FleetJson.cluster(cells.status())) : wrongMethod(exchange, "GET");
    }
    if (!path.startsWith(PATH + "/")) {
      return error(
          404, "there is nothing at " + path + "; workers are at " + PATH + ", nodes and cells at " + CLUSTER);
    }
    String rest = path.substring(PATH.length() + 1);
    if (rest.endsWith(DRAIN)) {
      String pod = rest.substring(0, rest.length() - DRAIN.length());
      return method.equals("POST") ? change(pod, "draining", cells::drain) : wrongMethod(exchange, "POST");
    }
    return method.equals("DELETE") ? change(rest, "removed", cells::remove) : wrongMethod(exchange, "DELETE");
  }

  @Override
  public Answer failure(String target, int status, String message) {
    return error(status, message);
  }

  private Answer add(byte[] body) {
    JsonNode tree;
    try {
      tree = read(body);
    } catch (IllegalArgumentException e) {
      return error(400, String.valueOf(e.getMessage()));
    }
    if (!tree.isObject()) {
      return error(400, "the body has to be a JSON object that describes one pod: name, url, models …");
    }
    PodReader reader = new PodReader(defaults);
    PodSpec pod = reader.pod(tree);
    if (!reader.faults().isEmpty()) {
      return faults(reader.faults());
    }
    try {
      cells.add(pod);
    } catch (IllegalArgumentException e) {
      return error(409, String.valueOf(e.getMessage()));
    }
    LOG.info("pod {} at {} added by the admin API", pod.name(), pod.url());
    return answer(201, object()
        .put("pod", pod.name())
        .put("workers", pod.ranks()));
  }

  private Answer change(String encoded, String done, Predicate<String> action) {
    String pod;
    try {
      pod = URLDecoder.decode(encoded.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return error(400, "the pod's name in the path is not percent-encoded: " + encoded);
    }
    if (!action.test(pod)) {
      return error(404, "there is no pod '" + pod + "'; GET " + PATH + " lists those there are");
    }
    LOG.info("pod {} {} by the admin API", pod, done);
    int left = cells.workers().stream()
        .filter(status -> status.worker().pod().equals(pod))
        .mapToInt(WorkerStatus::inFlight)
        .sum();
    return answer(200, object().put("pod", pod).put("state", done).put("in_flight", left));
  }

  private static Answer faults(List<PodReader.Fault> faults) {
    ObjectNode body = object();
    ObjectNode error = body.putObject("error").put(
        "message", faults.size() == 1 ? "the pod has a fault" : "the pod has " + faults.size() + " faults");
    ArrayNode list = error.putArray("faults");
    faults.forEach(fault -> list.addObject().put("field", fault.field()).put("message", fault.message()));
    return answer(400, body);
  }
}
