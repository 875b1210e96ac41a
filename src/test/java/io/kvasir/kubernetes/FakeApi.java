package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.kvasir.kubernetes.FakeObjects.Change;
import io.kvasir.kubernetes.FakeObjects.RefusedException;
import io.kvasir.kubernetes.FakeObjects.Snapshot;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The requests that a fake API server answers. */
final class FakeApi implements HttpHandler {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern TARGET =
      Pattern.compile(
          "/(?:api|apis/(?<group>[^/]+))/(?<version>v[^/]+)(?:/namespaces/(?<namespace>[^/]+))?/(?<plural>[^/]+)"
              + "(?:/(?<name>[^/]+))?(?<status>/status)?");
  private static final ApiResource TOKEN_REVIEWS = new ApiResource("authentication.k8s.io", "v1", "tokenreviews");
  private static final ApiResource ACCESS_REVIEWS =
      new ApiResource("authorization.k8s.io", "v1", "subjectaccessreviews");

  private final FakeServerState state;

  FakeApi(FakeServerState state) {
    this.state = state;
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      try {
        answer(exchange);
      } catch (RefusedException refused) {
        send(exchange, refused.code, status(refused));
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void answer(HttpExchange exchange) throws IOException, RefusedException, InterruptedException {
    if (state.failure != 0) {
      state.failures.incrementAndGet();
      throw new RefusedException(state.failure, "InternalError", "the server cannot handle the request now");
    }
    String authorization = String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"));
    String user = state.users.get(authorization.replace("Bearer ", ""));
    if (user == null) {
      throw new RefusedException(401, "Unauthorized", "Unauthorized");
    }
    Matcher target = TARGET.matcher(exchange.getRequestURI().getPath());
    if (!target.matches()) {
      throw new RefusedException(404, "NotFound", "404 page not found");
    }
    String group = target.group("group") == null ? "" : target.group("group");
    ApiResource resource = new ApiResource(group, target.group("version"), target.group("plural"));
    Map<String, String> query = query(exchange.getRequestURI().getRawQuery());
    boolean status = target.group("status") != null;
    String verb = verb(exchange.getRequestMethod(), target.group("name") != null, query.containsKey("watch"));
    state.requests.computeIfAbsent(verb + " " + resource, _ -> new AtomicInteger()).incrementAndGet();
    boolean review = resource.equals(TOKEN_REVIEWS) || resource.equals(ACCESS_REVIEWS);
    if (!review && !state.resources.containsKey(resource)) {
      throw new RefusedException(404, "NotFound", "the server could not find the requested resource");
    }
    String namespace = target.group("namespace") == null ? "" : target.group("namespace");
    String action = verb + (status ? " status of " : " ") + resource;
    if (state.denied.contains(action) || state.denied.contains(action + " " + namespace)) {
      throw new RefusedException(
          403, "Forbidden", resource + " is forbidden: User \"" + user + "\" cannot " + verb + " resource \""
              + resource.plural() + (status ? "/status" : "") + "\" in API group \"" + group + "\" in the namespace \""
              + namespace + "\"");
    }
    if (review) {
      send(exchange, 201, review((ObjectNode) JSON.readTree(exchange.getRequestBody()), resource));
      return;
    }
    String name = target.group("name") == null ? "" : target.group("name");
    Predicate<ObjectNode> selected = selected(namespace, query.getOrDefault("labelSelector", ""));
    ObjectKey key = new ObjectKey(namespace, name);
    switch (verb) {
      case "list" -> list(exchange, resource, selected, query);
      case "watch" -> watch(exchange, resource, selected, query);
      case "get" -> {
        ObjectNode found = state.objects.get(resource, key);
        if (found == null) {
          throw new RefusedException(404, "NotFound", resource + " \"" + name + "\" not found");
        }
        send(exchange, 200, found);
      }
      case "create" -> {
        ObjectNode object = (ObjectNode) JSON.readTree(exchange.getRequestBody());
        requireValid(resource, JSON.missingNode(), object);
        String given = object.at("/metadata/name").asText("");
        send(exchange, 201, state.objects.create(resource, new ObjectKey(namespace, given), object));
      }
      case "patch" -> {
        if (!"application/merge-patch+json".equals(exchange.getRequestHeaders().getFirst("Content-Type"))) {
          throw new RefusedException(415, "UnsupportedMediaType", "only merge patches are taken here");
        }
        send(exchange, 200, patch(resource, key, JSON.readTree(exchange.getRequestBody()), status));
      }
      default -> throw new RefusedException(405, "MethodNotAllowed", verb + " is not taken here");
    }
  }

  private ObjectNode patch(ApiResource resource, ObjectKey key, JsonNode patch, boolean status)
      throws RefusedException {
    ObjectNode before = state.objects.get(resource, key);
    if (before != null) {
      requireValid(resource, before, FakeObjects.merged(before.deepCopy(), patch));
    }
    return state.objects.patch(resource, key, patch, status);
  }

  /** Refuses what breaks the schema, but for that which was wrong before already. */
  private void requireValid(ApiResource resource, JsonNode before, JsonNode after) throws RefusedException {
    Definition definition = state.resources.get(resource);
    if (definition != null) {
      List<String> faults = new ArrayList<>(definition.faults(after));
      faults.removeAll(before.isMissingNode() ? List.of() : definition.faults(before));
      if (!faults.isEmpty()) {
        throw new RefusedException(
            422, "Invalid", resource + " \"" + ObjectKey.of(after).name() + "\" is invalid: " + faults);
      }
    }
  }

  private static String verb(String method, boolean named, boolean watch) {
    return switch (method) {
      case "GET" -> watch ? "watch" : named ? "get" : "list";
      case "POST" -> "create";
      case "PUT" -> "update";
      default -> method.toLowerCase(Locale.ROOT);
    };
  }

  private static Map<String, String> query(@Nullable String raw) {
    Map<String, String> query = new HashMap<>();
    for (String pair : (raw == null ? "" : raw).split("&", -1)) {
      String[] parts = pair.split("=", 2);
      query.put(parts[0], parts.length == 2 ? URLDecoder.decode(parts[1], StandardCharsets.UTF_8) : "");
    }
    return query;
  }

  private static Predicate<ObjectNode> selected(String namespace, String labels) {
    return object -> {
      if (!namespace.isEmpty() && !object.at("/metadata/namespace").asText().equals(namespace)) {
        return false;
      }
      for (String pair : labels.isEmpty() ? new String[0] : labels.split(",", -1)) {
        String[] parts = pair.split("==?", 2);
        if (!object.at("/metadata/labels").path(parts[0]).asText().equals(parts[1])) {
          return false;
        }
      }
      return true;
    };
  }

  private void list(
      HttpExchange exchange, ApiResource resource, Predicate<ObjectNode> selected, Map<String, String> query)
      throws IOException, RefusedException {
    int limit = Integer.parseInt(query.getOrDefault("limit", "500"));
    String token = query.get("continue");
    Snapshot rest = token == null ? state.objects.list(resource, selected) : state.pages.remove(token);
    if (rest == null) {
      throw new RefusedException(410, "Expired", "The provided continue parameter is too old");
    }
    ObjectNode body = JSON.createObjectNode().put("kind", "List");
    ObjectNode metadata = body.putObject("metadata").put("resourceVersion", String.valueOf(rest.version()));
    List<ObjectNode> listed = rest.objects();
    if (listed.size() > limit) {
      String next = "page-" + rest.version() + "-" + listed.size();
      state.pages.put(next, new Snapshot(listed.subList(limit, listed.size()), rest.version()));
      metadata.put("continue", next).put("remainingItemCount", listed.size() - limit);
      listed = listed.subList(0, limit);
    }
    body.putArray("items").addAll(listed);
    send(exchange, 200, body);
  }

  private void watch(
      HttpExchange exchange, ApiResource resource, Predicate<ObjectNode> selected, Map<String, String> query)
      throws IOException, InterruptedException, RefusedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(query.get("timeoutSeconds")));
    long from = Long.parseLong(query.get("resourceVersion"));
    int cut = state.cuts.get();
    int bookmark = state.bookmarks.get();
    if (!state.expiresInStream) {
      state.objects.requireAvailable(from);
    }
    exchange.sendResponseHeaders(200, 0);
    OutputStream out = exchange.getResponseBody();
    out.flush();
    state.watches.incrementAndGet();
    try {
      state.objects.requireAvailable(from);
      while (System.nanoTime() < end && cut == state.cuts.get()) {
        List<Change> changes = state.objects.after(resource, from, end);
        while (state.held && cut == state.cuts.get()) {
          state.objects.after(resource, state.objects.version(), System.nanoTime() + 50_000_000);
        }
        from = write(out, changes, selected, from);
        if (bookmark != state.bookmarks.get()) {
          bookmark = state.bookmarks.get();
          from = writeBookmark(out, resource, selected, from);
        }
      }
      if (cut == state.cuts.get()) {
        writeBookmark(out, resource, selected, from);
      }
    } catch (RefusedException expired) {
      write(out, JSON.createObjectNode().put("type", "ERROR").set("object", status(expired)));
    } finally {
      state.watches.decrementAndGet();
    }
  }

  /** Returns the version of the last. */
  private static long write(OutputStream out, List<Change> changes, Predicate<ObjectNode> selected, long from)
      throws IOException {
    long last = from;
    for (Change change : changes) {
      write(out, event(change, selected));
      last = change.version();
    }
    return last;
  }

  /** A bookmark of the version now, after all changes up to it; returns that version. */
  private long writeBookmark(OutputStream out, ApiResource resource, Predicate<ObjectNode> selected, long from)
      throws IOException, InterruptedException {
    long now = state.objects.version();
    long last = Math.max(now, write(out, state.objects.after(resource, from, System.nanoTime()), selected, from));
    write(out, bookmarkAt(last));
    return last;
  }

  private static ObjectNode bookmarkAt(long version) {
    ObjectNode event = JSON.createObjectNode().put("type", "BOOKMARK");
    event.putObject("object").putObject("metadata").put("resourceVersion", String.valueOf(version));
    return event;
  }

  /** What a watch with a selector sees of a change: an object that comes to match is new to it. */
  private static @Nullable ObjectNode event(Change change, Predicate<ObjectNode> selected) {
    ObjectNode before = change.before();
    ObjectNode after = change.after();
    boolean was = before != null && selected.test(before);
    boolean is = after != null && selected.test(after);
    ObjectNode last = is ? after : was ? before : null;
    if (last == null) {
      return null;
    }
    ObjectNode object = last.deepCopy();
    object.withObjectProperty("metadata").put("resourceVersion", String.valueOf(change.version()));
    return JSON.createObjectNode().put("type", is ? was ? "MODIFIED" : "ADDED" : "DELETED").set("object", object);
  }

  private static void write(OutputStream out, @Nullable ObjectNode event) throws IOException {
    if (event != null) {
      out.write((event + "\n").getBytes(StandardCharsets.UTF_8));
      out.flush();
    }
  }

  /** Whose a token is, or whether somebody may do something: everyone but {@code nobody} may. */
  private ObjectNode review(ObjectNode review, ApiResource resource) throws RefusedException {
    if (resource.equals(TOKEN_REVIEWS)) {
      if (review.at("/spec/token").asText().isEmpty()) {
        throw new RefusedException(400, "BadRequest", "token is required for TokenReview in authentication");
      }
      String user = state.users.get(review.at("/spec/token").asText());
      ObjectNode status = review.putObject("status").put("authenticated", user != null);
      if (user != null) {
        status.putObject("user").put("username", user);
      }
    } else {
      if (!review.at("/spec/nonResourceAttributes").isObject() || review.at("/spec/user").asText().isEmpty()) {
        throw new RefusedException(
            422, "Invalid", "spec.user and one of resourceAttributes and nonResourceAttributes are needed");
      }
      review.putObject("status").put("allowed", !review.at("/spec/user").asText().equals("nobody"));
    }
    return review;
  }

  private static ObjectNode status(RefusedException refused) {
    return JSON.createObjectNode()
        .put("kind", "Status").put("apiVersion", "v1").put("status", "Failure")
        .put("message", refused.getMessage()).put("reason", refused.reason).put("code", refused.code);
  }

  private static void send(HttpExchange exchange, int code, JsonNode body) throws IOException {
    byte[] bytes = body.toString().getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(code, bytes.length);
    exchange.getResponseBody().write(bytes);
  }
}
