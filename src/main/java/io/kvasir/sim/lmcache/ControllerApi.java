package io.kvasir.sim.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.HttpExchange;
import io.kvasir.sim.http.HttpServer;
import io.kvasir.sim.lmcache.KeyRegistry.Worker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The controller's HTTP surface, with FastAPI's errors. What would move, pin or compress chunks is answered with the
 * tokens it would concern, and changes nothing.
 */
final class ControllerApi implements HttpServer.Handler {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final Set<String> GETS = Set.of("/controller/workers", "/controller/key-stats");
  private static final Set<String> POSTS =
      Set.of(
          "/lookup", "/query_instance", "/health", "/query_worker_info", "/pin", "/compress", "/decompress", "/move",
          "/clear");

  private final KeyRegistry registry;

  ControllerApi(KeyRegistry registry) {
    this.registry = registry;
  }

  /** An answer that is not 200. */
  private static final class Refused extends Exception {
    private static final long serialVersionUID = 1;
    private final int status;
    private final transient JsonNode detail;

    Refused(int status, JsonNode detail) {
      super(detail.toString(), null, false, false);
      this.status = status;
      this.detail = detail;
    }

    Refused(int status, String detail) {
      this(status, JSON.getNodeFactory().textNode(detail));
    }
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    int status = 200;
    JsonNode answer;
    try {
      answer =
          switch (exchange.method()) {
            case "GET", "HEAD" -> get(exchange);
            case "POST" -> post(exchange);
            default -> throw new Refused(405, "Method Not Allowed");
          };
    } catch (Refused e) {
      status = e.status;
      answer = JSON.createObjectNode().set("detail", e.detail);
    }
    exchange.reply(status, "application/json", answer.toString().getBytes(StandardCharsets.UTF_8));
  }

  private JsonNode get(HttpExchange exchange) throws Refused {
    return switch (exchange.path()) {
      case "/controller/workers" -> workers(exchange.query("instance_id"), exchange.query("worker_id"));
      case "/controller/key-stats" -> keyStats();
      default -> throw elsewhere(POSTS, exchange.path());
    };
  }

  private JsonNode post(HttpExchange exchange) throws Refused {
    if (!POSTS.contains(exchange.path())) {
      throw elsewhere(GETS, exchange.path());
    }
    JsonNode body = parse(exchange.body());
    return switch (exchange.path()) {
      case "/lookup" -> lookup(tokens(body));
      case "/query_instance" -> instance(text(body, "ip"));
      case "/health" -> health(text(body, "instance_id"));
      case "/query_worker_info" -> workerInfo(body);
      case "/pin" -> concerned("Pin", "pinned", body);
      case "/compress" -> concerned("Compress", "compressed", body);
      case "/decompress" -> concerned("Decompress", "decompressed", body);
      case "/move" -> move(body);
      case "/clear" -> {
        List<Worker> workers = known(text(body, "instance_id"), "cleared");
        yield event("Clear").put("num_tokens", workers.getFirst().keys() * KeyRegistry.CHUNK_TOKENS);
      }
      default -> throw new Refused(404, "Not Found");
    };
  }

  private JsonNode lookup(int[] tokens) {
    ObjectNode answer = event("Lookup");
    ObjectNode layout = answer.putObject("layout_info");
    registry
        .lookup(tokens)
        .forEach((instance, match) -> layout.putArray(instance).add(match.location()).add(match.tokens()));
    return answer;
  }

  private JsonNode instance(String ip) throws Refused {
    String instance = registry.instanceAt(ip);
    if (instance == null) {
      throw new Refused(500, "1 validation error for QueryInstResponse\nres\n  Input should be a valid string"
          + " [type=string_type, input_value=None, input_type=NoneType]");
    }
    return event("QueryInst").put("res", instance);
  }

  /** Everybody it knows is well, as far as it knows. */
  private JsonNode health(String instance) {
    ObjectNode answer = event("health");
    ObjectNode codes = answer.putObject("error_codes");
    registry.list(instance).forEach(worker -> codes.put(Integer.toString(worker.place().worker()), 0));
    return answer;
  }

  private JsonNode workerInfo(JsonNode body) throws Refused {
    String instance = text(body, "instance_id");
    JsonNode asked = body.path("worker_ids");
    ObjectNode answer = event("QueryWorkerInfo");
    ArrayNode infos = answer.putArray("worker_infos");
    for (Worker worker : registry.list(instance.equals("all") ? null : instance)) {
      boolean wanted = asked.isEmpty();
      for (JsonNode id : asked) {
        wanted |= id.asInt() == worker.place().worker();
      }
      if (wanted) {
        ObjectNode info = describe(worker);
        info.remove("key_count");
        infos.add(info);
      }
    }
    return answer;
  }

  private JsonNode concerned(String event, String done, JsonNode body) throws Refused {
    String instance = text(body, "instance_id");
    String location = text(body, "location");
    int[] tokens = tokens(body);
    known(instance, done);
    return event(event).put("num_tokens", registry.held(instance, location, tokens));
  }

  private JsonNode move(JsonNode body) throws Refused {
    JsonNode from = body.path("old_position");
    if (from.size() != 2 || body.path("new_position").size() != 2) {
      throw missing(from.size() != 2 ? "old_position" : "new_position", body);
    }
    known(from.get(0).asText(), "moved");
    return event("Move").put("num_tokens", registry.held(from.get(0).asText(), from.get(1).asText(), tokens(body)));
  }

  private JsonNode workers(@Nullable String instance, @Nullable String id) throws Refused {
    List<Worker> workers = instance == null ? registry.listedWorkers() : registry.list(instance);
    if (id != null && !id.matches("-?\\d{1,9}")) {
      throw invalid("int_parsing", "query", "worker_id", "Input should be a valid integer, unable to parse string as an"
          + " integer", JSON.getNodeFactory().textNode(id));
    }
    if (instance != null && id != null) {
      for (Worker worker : workers) {
        if (Integer.toString(worker.place().worker()).equals(id)) {
          return describe(worker);
        }
      }
      throw new Refused(404, "Worker (" + instance + ", " + id + ") not found");
    }
    if (instance != null && workers.isEmpty()) {
      throw new Refused(404, "No workers found for instance " + instance);
    }
    ObjectNode answer = JSON.createObjectNode();
    ArrayNode list = answer.putArray("workers");
    workers.forEach(worker -> list.add(describe(worker)));
    return answer.put("total_count", workers.size());
  }

  private JsonNode keyStats() {
    List<Worker> workers = registry.list(null);
    Map<String, int[]> keysAndWorkers = new LinkedHashMap<>();
    for (Worker worker : workers) {
      int[] sums = keysAndWorkers.computeIfAbsent(worker.place().instance(), instance -> new int[2]);
      sums[0] += worker.keys();
      sums[1]++;
    }
    ObjectNode answer =
        JSON.createObjectNode()
            .put("total_key_count", workers.stream().mapToInt(Worker::keys).sum())
            .put("total_instance_count", keysAndWorkers.size())
            .put("total_worker_count", workers.size());
    ArrayNode instances = answer.putArray("instances");
    keysAndWorkers.forEach(
        (instance, sums) ->
            instances.addObject().put("instance_id", instance).put("key_count", sums[0]).put("worker_count", sums[1]));
    return answer;
  }

  private static ObjectNode describe(Worker worker) {
    return JSON.createObjectNode()
        .put("instance_id", worker.place().instance())
        .put("worker_id", worker.place().worker())
        .put("ip", worker.place().ip())
        .put("port", worker.place().port())
        .put("peer_init_url", worker.place().peer())
        .put("registration_time", worker.registered())
        .put("last_heartbeat_time", worker.heard())
        .put("key_count", worker.keys());
  }

  /** The workers of an instance; the real controller trips over there being none, and says so like this. */
  private List<Worker> known(String instance, String done) throws Refused {
    List<Worker> workers = registry.list(instance);
    if (workers.isEmpty()) {
      throw new Refused(500, "The number of tokens " + done + " should be the same across all workers.");
    }
    return workers;
  }

  private static ObjectNode event(String name) {
    return JSON.createObjectNode().put("event_id", name + UUID.randomUUID());
  }

  private static Refused elsewhere(Set<String> others, String path) {
    return others.contains(path) ? new Refused(405, "Method Not Allowed") : new Refused(404, "Not Found");
  }

  private static JsonNode parse(byte[] body) throws Refused {
    JsonNode json;
    try {
      json = JSON.readTree(body);
    } catch (IOException e) {
      throw invalid("json_invalid", "body", "", "JSON decode error", JSON.createObjectNode());
    }
    if (!json.isObject()) {
      throw invalid(
          "model_attributes_type", "body", "", "Input should be a valid dictionary or object to extract fields from",
          json);
    }
    return json;
  }

  private static String text(JsonNode body, String field) throws Refused {
    JsonNode value = body.get(field);
    if (value == null) {
      throw missing(field, body);
    }
    if (!value.isTextual()) {
      throw invalid("string_type", "body", field, "Input should be a valid string", value);
    }
    return value.textValue();
  }

  private static int[] tokens(JsonNode body) throws Refused {
    JsonNode list = body.get("tokens");
    if (list == null) {
      throw missing("tokens", body);
    }
    if (!list.isArray()) {
      throw invalid("list_type", "body", "tokens", "Input should be a valid list", list);
    }
    int[] tokens = new int[list.size()];
    for (int i = 0; i < tokens.length; i++) {
      JsonNode token = list.get(i);
      if (!token.isIntegralNumber() || !token.canConvertToLong()) {
        throw invalid("int_type", "body", "tokens", "Input should be a valid integer", token);
      }
      tokens[i] = (int) token.longValue();
    }
    return tokens;
  }

  private static Refused missing(String field, JsonNode body) {
    return invalid("missing", "body", field, "Field required", body);
  }

  /** As FastAPI says it, about the first field that is wrong. */
  private static Refused invalid(String type, String where, String field, String message, JsonNode input) {
    ArrayNode detail = JSON.createArrayNode();
    ObjectNode one = detail.addObject().put("type", type);
    ArrayNode location = one.putArray("loc").add(where);
    if (!field.isEmpty()) {
      location.add(field);
    }
    one.put("msg", message).set("input", input);
    return new Refused(422, detail);
  }
}
