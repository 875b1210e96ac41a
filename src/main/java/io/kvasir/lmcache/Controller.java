package io.kvasir.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** LMCache's controller over HTTP, on one pool of connections. Thread-safe. */
final class Controller implements InstanceSource, AutoCloseable {
  private static final Duration POLL = Duration.ofSeconds(5);

  private final URI workers;
  private final URI lookup;
  private final Duration timeout;
  private final URI address;
  private final JsonClient client;

  /**
   * The controller at an address.
   *
   * @param patience how long it gets for a lookup
   * @param executor runs what the client has to do; stays its owner's to close
   */
  Controller(URI address, Duration patience, Executor executor) {
    this.address = address;
    this.workers = address.resolve("/controller/workers");
    this.lookup = address.resolve("/lookup");
    this.timeout = patience;
    this.client = new JsonClient(executor);
  }

  @Override
  public String name() {
    return "controller";
  }

  @Override
  public URI address() {
    return address;
  }

  @Override
  public List<ControllerWorker> workers() throws IOException, InterruptedException {
    return workers(client.send(HttpRequest.newBuilder(workers).timeout(POLL).build()));
  }

  /** Where the tokens' chunks are; fails when it does not say in time. */
  CompletableFuture<List<Location>> lookup(int[] tokens) {
    HttpRequest request =
        HttpRequest.newBuilder(lookup)
            .timeout(timeout)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofByteArray(question(tokens)))
            .build();
    return client
        .sendAsync(request)
        .thenApply(
            content -> {
              try {
                return locations(content);
              } catch (IOException unusable) {
                throw new UncheckedIOException(unusable);
              }
            });
  }

  /**
   * The chunks attributed to an instance.
   *
   * @param instance its id
   * @param backend where it holds them, in LMCache's words
   * @param end position in the prompt after the last of them
   */
  record Location(String instance, String backend, int end) {}

  private static byte[] question(int[] tokens) {
    StringBuilder body = new StringBuilder(7 * tokens.length + 16).append("{\"tokens\":[");
    for (int i = 0; i < tokens.length; i++) {
      body.append(i == 0 ? "" : ",").append(tokens[i]);
    }
    return body.append("]}").toString().getBytes(StandardCharsets.US_ASCII);
  }

  private static List<ControllerWorker> workers(JsonNode content) throws IOException {
    if (!content.path("workers").isArray()) {
      throw new IOException("the answer has no list \"workers\"");
    }
    List<ControllerWorker> rows = new ArrayList<>();
    for (JsonNode row : content.path("workers")) {
      String instance = row.path("instance_id").asText("");
      if (!instance.isEmpty()) {
        rows.add(
            new ControllerWorker(
                instance,
                row.path("worker_id").asLong(0),
                row.path("ip").asText(""),
                row.path("registration_time").asDouble(0),
                row.path("last_heartbeat_time").asDouble(0),
                Math.max(0, row.path("key_count").asLong(0))));
      }
    }
    return rows;
  }

  private static List<Location> locations(JsonNode content) throws IOException {
    if (!content.path("layout_info").isObject()) {
      throw new IOException("the answer has no \"layout_info\"");
    }
    List<Location> locations = new ArrayList<>();
    content.path("layout_info").properties().forEach(entry -> {
      JsonNode place = entry.getValue();
      int end = place.path(1).asInt(0);
      if (place.path(0).isTextual() && end > 0) {
        locations.add(new Location(entry.getKey(), place.path(0).textValue(), end));
      }
    });
    return locations;
  }

  @Override
  public void close() {
    client.close();
  }
}
