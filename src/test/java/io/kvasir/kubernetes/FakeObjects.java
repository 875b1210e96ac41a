package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The objects of an API server and the log of their changes, by the rules that etcd and the API server keep: one
 * version counter for all resources, a change that changes nothing is none, the specification has a generation, the
 * status is written apart from it. Thread-safe.
 */
final class FakeObjects {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A change of an object: {@code before} is null for a new one, {@code after} for one that was deleted. */
  record Change(long version, ApiResource resource, @Nullable ObjectNode before, @Nullable ObjectNode after) {}

  /** A list as of a version. */
  record Snapshot(List<ObjectNode> objects, long version) {}

  /** A refusal of the API server. */
  static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;
    final int code;
    final String reason;

    RefusedException(int code, String reason, String message) {
      super(message);
      this.code = code;
      this.reason = reason;
    }
  }

  private final Map<ApiResource, NavigableMap<ObjectKey, ObjectNode>> objects = new HashMap<>();
  private final List<Change> log = new ArrayList<>();
  private long version = 100;
  private long compacted;
  private long wakes;

  synchronized long version() {
    return version;
  }

  synchronized @Nullable ObjectNode get(ApiResource resource, ObjectKey key) {
    ObjectNode object = of(resource).get(key);
    return object == null ? null : object.deepCopy();
  }

  synchronized Snapshot list(ApiResource resource, Predicate<ObjectNode> selected) {
    return new Snapshot(
        of(resource).values().stream().filter(selected).map(ObjectNode::deepCopy).toList(), version);
  }

  /** Refuses a version that is too old to watch from. */
  synchronized void requireAvailable(long from) throws RefusedException {
    if (from < compacted) {
      throw new RefusedException(410, "Expired", "too old resource version: " + from + " (" + compacted + ")");
    }
  }

  /** The changes after a version; waits for one, until the deadline, and then there are none. */
  synchronized List<Change> after(ApiResource resource, long from, long deadlineNanos) throws InterruptedException {
    long before = wakes;
    List<Change> found = after(resource, from);
    long left = millisUntil(deadlineNanos);
    while (found.isEmpty() && before == wakes && left > 0) {
      wait(left);
      found = after(resource, from);
      left = millisUntil(deadlineNanos);
    }
    return found;
  }

  private static long millisUntil(long nanos) {
    return (nanos - System.nanoTime()) / 1_000_000;
  }

  private List<Change> after(ApiResource resource, long from) {
    return log.stream().filter(change -> change.version > from && change.resource.equals(resource)).toList();
  }

  /** Wakes everyone who waits for changes. */
  synchronized void wake() {
    wakes++;
    notifyAll();
  }

  /** Forgets all changes so far, as etcd does every five minutes; watches that are open go on. */
  synchronized void compact() {
    version++;
    compacted = version;
    notifyAll();
  }

  /** Deletes an object without a change in the log. */
  synchronized void lose(ApiResource resource, ObjectKey key) {
    of(resource).remove(key);
  }

  synchronized ObjectNode create(ApiResource resource, ObjectKey named, ObjectNode object) throws RefusedException {
    ObjectNode created = object.deepCopy();
    ObjectNode metadata = created.withObjectProperty("metadata");
    String name = named.name();
    if (name.isEmpty()) {
      name = metadata.path("generateName").asText() + UUID.randomUUID().toString().substring(0, 5);
    }
    ObjectKey key = new ObjectKey(named.namespace(), name);
    if (of(resource).containsKey(key)) {
      throw new RefusedException(409, "AlreadyExists", resource + " \"" + name + "\" already exists");
    }
    metadata.put("name", name).put("namespace", key.namespace()).put("uid", UUID.randomUUID().toString());
    metadata.put("generation", 1);
    if (!metadata.has("creationTimestamp")) {
      metadata.put("creationTimestamp", "2026-01-01T00:00:00Z");
    }
    store(resource, key, null, created);
    return created.deepCopy();
  }

  /** Replaces an object but for its status, or its status alone. */
  synchronized ObjectNode replace(ApiResource resource, ObjectKey key, ObjectNode object, boolean status)
      throws RefusedException {
    ObjectNode before = of(resource).get(key);
    if (before == null) {
      throw new RefusedException(404, "NotFound", resource + " \"" + key.name() + "\" not found");
    }
    String asOf = object.at("/metadata/resourceVersion").asText("");
    if (!asOf.isEmpty() && !asOf.equals(before.at("/metadata/resourceVersion").asText())) {
      throw new RefusedException(
          409, "Conflict", "Operation cannot be fulfilled on " + resource + " \"" + key.name()
              + "\": the object has been modified; please apply your changes to the latest version and try again");
    }
    ObjectNode after;
    if (status) {
      after = before.deepCopy();
      after.set("status", object.path("status"));
    } else {
      after = object.deepCopy();
      ObjectNode metadata = after.withObjectProperty("metadata");
      for (String kept : List.of("name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion")) {
        metadata.set(kept, before.path("metadata").path(kept));
      }
      if (!after.path("spec").equals(before.path("spec"))) {
        metadata.put("generation", before.at("/metadata/generation").asLong() + 1);
      }
    }
    if (!after.equals(before)) {
      store(resource, key, before, after);
    }
    return after.deepCopy();
  }

  synchronized ObjectNode patch(ApiResource resource, ObjectKey key, JsonNode patch, boolean status)
      throws RefusedException {
    ObjectNode before = of(resource).get(key);
    if (before == null) {
      throw new RefusedException(404, "NotFound", resource + " \"" + key.name() + "\" not found");
    }
    return replace(resource, key, (ObjectNode) merged(before.deepCopy(), patch), status);
  }

  synchronized ObjectNode delete(ApiResource resource, ObjectKey key) throws RefusedException {
    ObjectNode before = of(resource).get(key);
    if (before == null) {
      throw new RefusedException(404, "NotFound", resource + " \"" + key.name() + "\" not found");
    }
    version++;
    of(resource).remove(key);
    ObjectNode last = before.deepCopy();
    last.withObjectProperty("metadata").put("resourceVersion", String.valueOf(version));
    log.add(new Change(version, resource, last, null));
    notifyAll();
    return last;
  }

  private void store(ApiResource resource, ObjectKey key, @Nullable ObjectNode before, ObjectNode after) {
    version++;
    after.withObjectProperty("metadata").put("resourceVersion", String.valueOf(version));
    of(resource).put(key, after);
    log.add(new Change(version, resource, before, after.deepCopy()));
    notifyAll();
  }

  private NavigableMap<ObjectKey, ObjectNode> of(ApiResource resource) {
    return objects.computeIfAbsent(resource, _ -> new TreeMap<>());
  }

  /** A JSON merge patch (RFC 7396). */
  static JsonNode merged(JsonNode target, JsonNode patch) {
    if (!patch.isObject()) {
      return patch;
    }
    ObjectNode result = target.isObject() ? (ObjectNode) target : JSON.createObjectNode();
    for (Map.Entry<String, JsonNode> field : patch.properties()) {
      if (field.getValue().isNull()) {
        result.remove(field.getKey());
      } else {
        result.set(field.getKey(), merged(result.path(field.getKey()), field.getValue()));
      }
    }
    return result;
  }
}
