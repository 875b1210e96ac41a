package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.http.SimHttpHandler;
import io.kvasir.sim.lmcache.FastApi.HttpException;
import io.kvasir.sim.lmcache.FastApi.Reply;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator's HTTP surface: {@code /instances}, {@code /healthz}, {@code /cache/prefetches}, and what {@link
 * DirectoryApi} answers.
 */
final class CoordinatorApi implements SimHttpHandler, AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final long expiryNanos;
  /** In the order in which they registered; guarded by itself. */
  private final Map<String, Member> members = new LinkedHashMap<>();
  private final PlacementDirectory directory = new PlacementDirectory();
  private final DirectoryApi directoryApi = new DirectoryApi(directory);
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(TIMEOUT).build();

  /** A server, as {@code GET /instances} shows it, and the time of its last heartbeat. */
  private record Member(ObjectNode description, long lastHeartbeatNanos) {
    Member withHeartbeatNow() {
      return new Member(description, System.nanoTime());
    }

    URI uri(String path) {
      String authority = description.path("ip").asText() + ":" + description.path("http_port").asInt();
      return URI.create("http://" + authority + path);
    }
  }

  CoordinatorApi(Duration silence) {
    this.expiryNanos = silence.toNanos();
  }

  @Override
  public void handle(SimHttpExchange exchange) throws IOException {
    FastApi.serve(exchange, this::answer);
  }

  @Override
  public void close() {
    http.close();
  }

  private Reply answer(SimHttpExchange request) throws HttpException {
    if (DirectoryApi.serves(request.path())) {
      synchronized (members) {
        removeExpired();
      }
      return directoryApi.answer(request);
    }
    String[] path = request.path().substring(1).split("/", -1);
    String form = request.method() + " " + path[0] + (path.length > 1 ? "/" + (path.length - 1) : "");
    return switch (form) {
      case "GET healthz" -> Reply.ok(JSON.createObjectNode().put("status", "healthy"));
      case "GET instances" -> Reply.ok(list());
      case "POST instances" -> Reply.ok(register(FastApi.parse(request.body())));
      case "DELETE instances/1" -> remove(path[1]);
      case "PUT instances/2" -> {
        if (!path[2].equals("heartbeat")) {
          throw FastApi.notFound();
        }
        yield heartbeat(path[1]);
      }
      case "POST cache/1" -> {
        if (!path[1].equals("prefetches")) {
          throw FastApi.notFound();
        }
        yield prefetch(FastApi.parse(request.body()));
      }
      case "GET cache/3" -> {
        if (!path[1].equals("prefetches")) {
          throw FastApi.notFound();
        }
        yield progress(path[2], path[3]);
      }
      default -> throw FastApi.notFound();
    };
  }

  private JsonNode list() {
    ObjectNode answer = JSON.createObjectNode();
    ArrayNode instances = answer.putArray("instances");
    synchronized (members) {
      removeExpired();
      members.values().forEach(member -> instances.add(member.description()));
    }
    return answer;
  }

  private JsonNode register(JsonNode body) throws HttpException {
    ObjectNode shown = JSON.createObjectNode();
    String id = body.path("instance_id").asText("").strip();
    shown.put("instance_id", id.isEmpty() ? "mp-" + UUID.randomUUID().toString().replace("-", "") : id);
    shown.put("ip", FastApi.text(body, "ip").strip()).put("http_port", FastApi.integer(body, "http_port"));
    shown.put("registration_time", System.currentTimeMillis() / 1e3);
    shown.set("metadata", body.path("metadata").isObject() ? body.get("metadata") : JSON.createObjectNode());
    shown.put("p2p_advertised_url", body.path("p2p_advertised_url").asText(""));
    shown.put("mq_port", body.path("mq_port").asInt(0));
    synchronized (members) {
      removeExpired();
      boolean again = members.put(shown.path("instance_id").asText(), new Member(shown, System.nanoTime())) != null;
      return JSON.createObjectNode().put("instance_id", shown.path("instance_id").asText()).put("re_registered", again);
    }
  }

  private Reply heartbeat(String id) {
    synchronized (members) {
      removeExpired();
      if (members.computeIfPresent(id, (_, member) -> member.withHeartbeatNow()) == null) {
        return new Reply(404, JSON.createObjectNode().put("error", "unknown instance " + id + "; re-register"));
      }
    }
    return Reply.ok(JSON.createObjectNode().put("instance_id", id));
  }

  private Reply remove(String id) {
    synchronized (members) {
      members.remove(id);
    }
    directory.remove(id);
    return new Reply(204, null);
  }

  private Reply prefetch(JsonNode body) throws HttpException {
    String id = FastApi.text(body, "instance_id");
    FastApi.text(body, "model_name");
    FastApi.integer(body, "world_size");
    FastApi.tokens(body, "token_ids");
    Member member = member(id);
    ObjectNode passedOn = body.deepCopy();
    passedOn.remove("instance_id");
    HttpResponse<byte[]> response =
        send(
            id,
            "submit to",
            HttpRequest.newBuilder(member.uri("/cache/prefetches"))
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(passedOn.toString())));
    JsonNode reply = read(response.body());
    if (response.statusCode() / 100 != 2 || reply == null) {
      throw new HttpException(502, "prefetch submit to '" + id + "' failed: status " + response.statusCode());
    }
    return Reply.ok(
        JSON.createObjectNode()
            .put("instance_id", id)
            .put("request_id", reply.path("request_id").asText(""))
            .put("chunks", reply.path("chunks").asInt())
            .put("status", reply.path("status").asText("submitted")));
  }

  private Reply progress(String id, String request) throws HttpException {
    HttpResponse<byte[]> response =
        send(id, "status from", HttpRequest.newBuilder(member(id).uri("/cache/prefetches/" + request)).GET());
    JsonNode reply = read(response.body());
    return new Reply(response.statusCode(), reply == null ? JSON.createObjectNode() : reply);
  }

  private Member member(String id) throws HttpException {
    synchronized (members) {
      removeExpired();
      Member member = members.get(id);
      if (member == null) {
        throw new HttpException(404, "no MP server registered with instance_id='" + id + "'");
      }
      return member;
    }
  }

  private HttpResponse<byte[]> send(String id, String what, HttpRequest.Builder request) throws HttpException {
    try {
      return http.send(request.timeout(TIMEOUT).build(), BodyHandlers.ofByteArray());
    } catch (IOException e) {
      throw new HttpException(502, "prefetch " + what + " '" + id + "' failed: " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new HttpException(502, "prefetch " + what + " '" + id + "' failed: interrupted");
    }
  }

  private static @Nullable JsonNode read(byte[] body) {
    try {
      return JSON.readTree(body);
    } catch (IOException e) {
      return null;
    }
  }

  private void removeExpired() {
    long now = System.nanoTime();
    members.values().removeIf(member -> {
      boolean expired = now - member.lastHeartbeatNanos() > expiryNanos;
      if (expired) {
        directory.remove(member.description().path("instance_id").asText());
      }
      return expired;
    });
  }
}
