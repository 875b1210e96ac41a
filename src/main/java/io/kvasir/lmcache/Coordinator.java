package io.kvasir.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Request;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A client of the coordinator of LMCache's multi-process mode. Thread-safe; the HTTP client beneath is its owner's to
 * close.
 */
final class Coordinator implements InstanceSource {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration POLL_TIMEOUT = Duration.ofSeconds(5);
  private static final String PREFETCHES = "/cache/prefetches";

  private final URI address;
  private final HttpCalls calls;

  /**
   * A prompt whose KV blocks are to be fetched.
   *
   * @param instance id of the instance that fetches them
   * @param model the engine's name of its model
   * @param ranks of the engine
   * @param tokens the prompt
   * @param salt keeps caches of tenants apart; empty without one
   */
  record PrefetchRequest(String instance, String model, int ranks, int[] tokens, String salt) {}

  Coordinator(URI address, HttpCalls calls) {
    this.address = address;
    this.calls = calls;
  }

  @Override
  public String name() {
    return "coordinator";
  }

  @Override
  public URI address() {
    return address;
  }

  @Override
  public List<ControllerWorker> workers() throws IOException, InterruptedException {
    JsonNode content = call(Request.get(address.resolve("/instances"), POLL_TIMEOUT));
    if (!content.path("instances").isArray()) {
      throw new IOException("the answer has no list \"instances\"");
    }
    List<ControllerWorker> rows = new ArrayList<>();
    for (JsonNode row : content.path("instances")) {
      String instance = row.path("instance_id").asText("");
      if (!instance.isEmpty()) {
        // The coordinator drops silent instances by itself, and not every version lists the heartbeats.
        JsonNode heartbeat = row.path("last_heartbeat_time");
        double registered = heartbeat.isNumber() ? row.path("registration_time").asDouble(0) : 0;
        rows.add(
            new ControllerWorker(instance, 0, row.path("ip").asText(""), registered, heartbeat.asDouble(0), 0));
      }
    }
    return rows;
  }

  /**
   * Makes an instance fetch a prompt's KV blocks. Returns the prefetch's id, empty when there is nothing to fetch.
   *
   * @throws HttpCallException when the coordinator does not accept it in time
   */
  String submit(PrefetchRequest prefetch, Duration timeout) throws IOException, InterruptedException {
    ObjectNode body =
        JSON.createObjectNode()
            .put("instance_id", prefetch.instance())
            .put("model_name", prefetch.model())
            .put("world_size", prefetch.ranks())
            .put("cache_salt", prefetch.salt());
    ArrayNode tokens = body.putArray("token_ids");
    for (int token : prefetch.tokens()) {
      tokens.add(token);
    }
    JsonNode content = call(Request.post(address.resolve(PREFETCHES), JSON.writeValueAsBytes(body), timeout));
    return content.path("status").asText("").equals("noop") ? "" : content.path("request_id").asText("");
  }

  /**
   * Whether a prefetch is complete.
   *
   * @throws HttpCallException when no usable response comes in time
   */
  boolean completed(String instance, String prefetch, Duration timeout) throws IOException, InterruptedException {
    URI status = address.resolve(PREFETCHES + "/" + encoded(instance) + "/" + encoded(prefetch));
    return call(Request.get(status, timeout)).path("status").asText("").equals("completed");
  }

  private JsonNode call(Request request) throws IOException, InterruptedException {
    return calls.send(request).requireStatus(200).jsonObject();
  }

  private static String encoded(String segment) {
    return URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
