package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;
import static io.kvasir.sim.lmcache.FastApi.invalid;
import static io.kvasir.sim.lmcache.FastApi.missing;
import static io.kvasir.sim.lmcache.FastApi.parse;
import static io.kvasir.sim.lmcache.FastApi.text;
import static io.kvasir.sim.lmcache.FastApi.tokens;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.http.SimHttpHandler;
import io.kvasir.sim.lmcache.FastApi.HttpException;
import io.kvasir.sim.lmcache.FastApi.Reply;
import io.kvasir.sim.lmcache.KeyRegistry.WorkerSnapshot;
import java.io.IOException;
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
final class ControllerApi implements SimHttpHandler {

  private static final Set<String> GETS = Set.of("/controller/workers", "/controller/key-stats");
  private static final Set<String> POSTS =
      Set.of(
          "/lookup", "/query_instance", "/health", "/query_worker_info", "/pin", "/compress", "/decompress", "/move",
          "/clear");

  private final KeyRegistry registry;

  ControllerApi(KeyRegistry registry) {
    this.registry = registry;
  }

  @Override
  public void handle(SimHttpExchange exchange) throws IOException {
    FastApi.serve(
        exchange,
        request ->
            switch (request.method()) {
              case "GET", "HEAD" -> Reply.ok(get(request));
              case "POST" -> Reply.ok(post(request));
              default -> throw FastApi.notAllowed();
            });
  }

  private JsonNode get(SimHttpExchange exchange) throws HttpException {
    return switch (exchange.path()) {
      case "/controller/workers" -> workers(exchange.query("instance_id"), exchange.query("worker_id"));
      case "/controller/key-stats" -> keyStats();
      default -> throw elsewhere(POSTS, exchange.path());
    };
  }

  private JsonNode post(SimHttpExchange exchange) throws HttpException {
    if (!POSTS.contains(exchange.path())) {
      throw elsewhere(GETS, exchange.path());
    }
    JsonNode body = parse(exchange.body());
    return switch (exchange.path()) {
      case "/lookup" -> lookup(tokens(body, "tokens"));
      case "/query_instance" -> instance(text(body, "ip"));
      case "/health" -> health(text(body, "instance_id"));
      case "/query_worker_info" -> workerInfo(body);
      case "/pin" -> concerned("Pin", "pinned", body);
      case "/compress" -> concerned("Compress", "compressed", body);
      case "/decompress" -> concerned("Decompress", "decompressed", body);
      case "/move" -> move(body);
      case "/clear" -> {
        List<WorkerSnapshot> workers = known(text(body, "instance_id"), "cleared");
        yield event("Clear").put("num_tokens", workers.getFirst().keys() * KeyRegistry.CHUNK_TOKENS);
      }
      default -> throw FastApi.notFound();
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

  private JsonNode instance(String ip) throws HttpException {
    String instance = registry.instanceAt(ip);
    if (instance == null) {
      throw new HttpException(500, "1 validation error for QueryInstResponse\nres\n  Input should be a valid string"
          + " [type=string_type, input_value=None, input_type=NoneType]");
    }
    return event("QueryInst").put("res", instance);
  }

  /** Reports every registered worker as healthy, as the real one does without heartbeats. */
  private JsonNode health(String instance) {
    ObjectNode answer = event("health");
    ObjectNode codes = answer.putObject("error_codes");
    registry.list(instance).forEach(worker -> codes.put(Integer.toString(worker.address().worker()), 0));
    return answer;
  }

  private JsonNode workerInfo(JsonNode body) throws HttpException {
    String instance = text(body, "instance_id");
    JsonNode workerIds = body.path("worker_ids");
    ObjectNode answer = event("QueryWorkerInfo");
    ArrayNode infos = answer.putArray("worker_infos");
    for (WorkerSnapshot worker : registry.list(instance.equals("all") ? null : instance)) {
      boolean all = workerIds.isEmpty();
      for (JsonNode id : workerIds) {
        all |= id.asInt() == worker.address().worker();
      }
      if (all) {
        ObjectNode info = describe(worker);
        info.remove("key_count");
        infos.add(info);
      }
    }
    return answer;
  }

  private JsonNode concerned(String event, String done, JsonNode body) throws HttpException {
    String instance = text(body, "instance_id");
    String location = text(body, "location");
    int[] tokens = tokens(body, "tokens");
    known(instance, done);
    return event(event).put("num_tokens", registry.heldTokens(instance, location, tokens));
  }

  private JsonNode move(JsonNode body) throws HttpException {
    JsonNode from = body.path("old_position");
    if (from.size() != 2 || body.path("new_position").size() != 2) {
      throw missing(from.size() != 2 ? "old_position" : "new_position", body);
    }
    known(from.get(0).asText(), "moved");
    int[] tokens = tokens(body, "tokens");
    return event("Move").put("num_tokens", registry.heldTokens(from.get(0).asText(), from.get(1).asText(), tokens));
  }

  private JsonNode workers(@Nullable String instance, @Nullable String id) throws HttpException {
    List<WorkerSnapshot> workers = instance == null ? registry.listedWorkers() : registry.list(instance);
    if (id != null && !id.matches("-?\\d{1,9}")) {
      throw invalid("int_parsing", "query", "worker_id", "Input should be a valid integer, unable to parse string as an"
          + " integer", JSON.getNodeFactory().textNode(id));
    }
    if (instance != null && id != null) {
      for (WorkerSnapshot worker : workers) {
        if (Integer.toString(worker.address().worker()).equals(id)) {
          return describe(worker);
        }
      }
      throw new HttpException(404, "Worker (" + instance + ", " + id + ") not found");
    }
    if (instance != null && workers.isEmpty()) {
      throw new HttpException(404, "No workers found for instance " + instance);
    }
    ObjectNode answer = JSON.createObjectNode();
    ArrayNode list = answer.putArray("workers");
    workers.forEach(worker -> list.add(describe(worker)));
    return answer.put("total_count", workers.size());
  }

  private JsonNode keyStats() {
    List<WorkerSnapshot> workers = registry.list(null);
    Map<String, int[]> keysAndWorkers = new LinkedHashMap<>();
    for (WorkerSnapshot worker : workers) {
      int[] sums = keysAndWorkers.computeIfAbsent(worker.address().instance(), instance -> new int[2]);
      sums[0] += worker.keys();
      sums[1]++;
    }
    ObjectNode answer =
        JSON.createObjectNode()
            .put("total_key_count", workers.stream().mapToInt(WorkerSnapshot::keys).sum())
            .put("total_instance_count", keysAndWorkers.size())
            .put("total_worker_count", workers.size());
    ArrayNode instances = answer.putArray("instances");
    keysAndWorkers.forEach(
        (instance, sums) ->
            instances.addObject().put("instance_id", instance).put("key_count", sums[0]).put("worker_count", sums[1]));
    return answer;
  }

  private static ObjectNode describe(WorkerSnapshot worker) {
    return JSON.createObjectNode()
        .put("instance_id", worker.address().instance())
        .put("worker_id", worker.address().worker())
        .put("ip", worker.address().ip())
        .put("port", worker.address().port())
        .put("peer_init_url", worker.address().peer())
        .put("registration_time", worker.registeredAt())
        .put("last_heartbeat_time", worker.lastHeartbeat())
        .put("key_count", worker.keys());
  }

  /** The workers of an instance; without any, the real controller fails with this message. */
  private List<WorkerSnapshot> known(String instance, String done) throws HttpException {
    List<WorkerSnapshot> workers = registry.list(instance);
    if (workers.isEmpty()) {
      throw new HttpException(500, "The number of tokens " + done + " should be the same across all workers.");
    }
    return workers;
  }

  private static ObjectNode event(String name) {
    return JSON.createObjectNode().put("event_id", name + UUID.randomUUID());
  }

  private static HttpException elsewhere(Set<String> others, String path) {
    return others.contains(path) ? FastApi.notAllowed() : FastApi.notFound();
  }
}
