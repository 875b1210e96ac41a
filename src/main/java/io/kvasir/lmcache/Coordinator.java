package io.kvasir.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/** The coordinator of LMCache's multi-process mode over HTTP, on one pool of connections. Thread-safe. */
final class Coordinator implements InstanceSource, AutoCloseable {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration POLL = Duration.ofSeconds(5);
  private static final String PREFETCHES = "/cache/prefetches";

  private final URI address;
  private final JsonClient client;

  /**
   * A prompt whose KV blocks are to be fetched.
   *
   * @param instance who is to have them
   * @param model as its engine calls it
   * @param ranks of the engine
   * @param tokens the prompt
   * @param salt keeps caches of tenants apart, empty without one
   */
  record PrefetchRequest(String instance, String model, int ranks, int[] tokens, String salt) {}

  /** The coordinator at an address; {@code executor} runs what the client has to do and stays its owner's to close. */
  Coordinator(URI address, Executor executor) {
    this.address = address;
    this.client = new JsonClient(executor);
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
    JsonNode content = client.send(HttpRequest.newBuilder(address.resolve("/instances")).timeout(POLL).build());
    if (!content.path("instances").isArray()) {
      throw new IOException("the answer has no list \"instances\"");
    }
    List<ControllerWorker> rows = new ArrayList<>();
    for (JsonNode row : content.path("instances")) {
      String instance = row.path("instance_id").asText("");
      if (!instance.isEmpty()) {
        // It drops members that are silent for long by itself, and does not always tell when it heard them.
        JsonNode beat = row.path("last_heartbeat_time");
        double registered = beat.isNumber() ? row.path("registration_time").asDouble(0) : 0;
        rows.add(new ControllerWorker(instance, 0, row.path("ip").asText(""), registered, beat.asDouble(0), 0));
      }
    }
    return rows;
  }

  /**
   * Has an instance fetch a prompt's KV blocks. Returns the prefetch's id, empty when there is nothing to fetch.
   *
   * @param patience how long it gets
   * @throws IOException when it does not do so; the message says why
   */
  String submit(PrefetchRequest order, Duration patience) throws IOException, InterruptedException {
    ObjectNode body =
        JSON.createObjectNode()
            .put("instance_id", order.instance())
            .put("model_name", order.model())
            .put("world_size", order.ranks())
            .put("cache_salt", order.salt());
    ArrayNode tokens = body.putArray("token_ids");
    for (int token : order.tokens()) {
      tokens.add(token);
    }
    JsonNode answer =
        client.send(
            HttpRequest.newBuilder(address.resolve(PREFETCHES))
                .timeout(patience)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
                .build());
    return answer.path("status").asText("").equals("noop") ? "" : answer.path("request_id").asText("");
  }

  /**
   * Whether a prefetch is over.
   *
   * @param patience how long it gets to say
   * @throws IOException when it does not say; the message says why
   */
  boolean completed(String instance, String prefetch, Duration patience) throws IOException, InterruptedException {
    URI at = address.resolve(PREFETCHES + "/" + encoded(instance) + "/" + encoded(prefetch));
    return client.send(HttpRequest.newBuilder(at).timeout(patience).build()).path("status").asText("").equals(
        "completed");
  }

  private static String encoded(String segment) {
    return URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20");
  }

  @Override
  public void close() {
    client.close();
  }
}
