package io.kvasir.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.index.Tier;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** A client of LMCache's controller. Thread-safe; the HTTP client beneath is its owner's to close. */
final class Controller implements LookupSource {
  private static final Duration POLL_TIMEOUT = Duration.ofSeconds(5);

  private final URI address;
  private final URI workers;
  private final URI lookup;
  private final Duration lookupTimeout;
  private final HttpCalls calls;

  Controller(URI address, Duration lookupTimeout, HttpCalls calls) {
    this.address = address;
    this.workers = address.resolve("/controller/workers");
    this.lookup = address.resolve("/lookup");
    this.lookupTimeout = lookupTimeout;
    this.calls = calls;
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
    return workers(calls.send(Request.get(workers, POLL_TIMEOUT)).requireStatus(200).jsonObject());
  }

  /** By the tokens alone: the controller knows no models and no salts. */
  @Override
  public CompletableFuture<List<Location>> lookup(Prompt prompt) {
    return calls
        .sendAsync(Request.post(lookup, body(prompt.tokens()), lookupTimeout))
        .thenApply(
            reply -> {
              try {
                return locations(reply.requireStatus(200).jsonObject());
              } catch (IOException unusable) {
                throw new CompletionException(unusable);
              }
            });
  }

  @Override
  public boolean separatesModels() {
    return false;
  }

  /** Its answers do not show any. */
  @Override
  public Optional<Problem> fault() {
    return Optional.empty();
  }

  private static byte[] body(int[] tokens) {
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
        locations.add(new Location(entry.getKey(), tier(place.path(0).textValue()), end));
      }
    });
    return locations;
  }

  /** The tier of an LMCache backend, by its name; neither memory nor disk of the engine's host means remote. */
  private static Tier tier(String backend) {
    String name = backend.toLowerCase(Locale.ROOT);
    return name.contains("cpu") ? Tier.HOST
        : name.contains("disk") || name.contains("gds") ? Tier.DISK
        : Tier.REMOTE;
  }
}
