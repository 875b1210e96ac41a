package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.KubernetesApi;
import io.kvasir.kubernetes.KubernetesApiException;
import io.kvasir.kubernetes.KubernetesConnection;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.telemetry.Problem;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what became of inference objects into their status: {@code Accepted}, for pools {@code ResolvedRefs}, too. An
 * object that is wrong gets an event besides. Nothing is written that is there already, and what others write stays; a
 * write that another one has overtaken is made anew for the object as it is then. Used by one node of the cluster at a
 * time; if two did for a moment, they would write the same. Owns its thread.
 */
public final class StatusWriter implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StatusWriter.class);
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final int MAX_ATTEMPTS = 5;

  /**
   * What was written, until the watch brings it.
   *
   * @param read version of the object that the watch had brought
   * @param object as it is since
   */
  private record Written(String read, JsonNode object) {}

  private final InferenceObjects objects;
  private final KubernetesConnection connection;
  private final String controller;
  private final Duration interval;
  private final InferenceMetrics metrics;
  private final InstantSource clock;
  private final Semaphore due = new Semaphore(1);
  private final Thread thread;
  /** Services that pools refer to and that were there; of this writer's thread. */
  private final Set<ObjectKey> services = new HashSet<>();
  /** By the objects' uid; of this writer's thread. */
  private final Map<String, Written> written = new HashMap<>();
  /** The first refusal of a pass; of this writer's thread. */
  private @Nullable KubernetesApiException refused;
  private volatile @Nullable String failure;
  private volatile boolean closed;

  /**
   * Starts writing.
   *
   * @param objects whose status is written, after each change of them
   * @param controller the name in entries for pools, such as {@code kvasir.io/models}: one for each installation
   * @param interval how often references and failed writes are looked at again
   */
  public StatusWriter(
      InferenceObjects objects, KubernetesConnection connection, String controller, Duration interval,
      InferenceMetrics metrics, InstantSource clock) {
    this.objects = objects;
    this.connection = connection;
    this.controller = controller;
    this.interval = interval;
    this.metrics = metrics;
    this.clock = clock;
    this.thread = Thread.ofVirtual().name("kvasir-kubernetes-status").start(this::run);
    objects.onChange(this::signal);
  }

  /** Why statuses cannot be written, for readiness. */
  public Optional<Problem> problem() {
    return Optional.ofNullable(failure)
        .map(
            reason ->
                Problem.warning(
                    "the status of inference objects cannot be written: " + reason,
                    "give the service account the right to patch it, or set pods-from.kubernetes.pools.write-status"
                        + " to false"));
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }

  private void signal() {
    if (due.availablePermits() == 0) {
      due.release();
    }
  }

  private void run() {
    try {
      while (!closed) {
        boolean changed = due.tryAcquire(interval.toNanos(), TimeUnit.NANOSECONDS);
        due.drainPermits();
        if (!changed) {
          services.clear();
        }
        try (KubernetesApi api = new KubernetesApi(connection)) {
          refused = null;
          write(api, objects.snapshot());
          if (refused == null) {
            failure = null;
          } else {
            failed(refused);
          }
        } catch (IOException | RuntimeException failed) {
          failed(failed);
        }
      }
    } catch (InterruptedException closed) {
      LOG.debug("statuses are written no longer");
    }
  }

  private void failed(Exception reason) {
    metrics.write(InferenceMetrics.Write.FAILED);
    String message = reason.getMessage() == null ? reason.toString() : reason.getMessage();
    if (!closed && !message.equals(failure)) {
      LOG.warn("the status of inference objects cannot be written: {}", message);
    }
    failure = message;
  }

  private void write(KubernetesApi api, InferenceSnapshot now) throws IOException, InterruptedException {
    if (!now.complete()) {
      return;
    }
    written.keySet().retainAll(now.uids());
    for (KnownObject<InferencePool> pool : now.pools().values()) {
      List<Condition> conditions = List.of(Condition.accepted(pool.faults()), resolvedReferences(api, pool));
      write(api, InferenceKind.POOL, pool, conditions);
    }
    for (KnownObject<?> objective : now.objectives().values()) {
      write(api, InferenceKind.OBJECTIVE, objective, List.of(Condition.accepted(now.faults(objective))));
    }
    for (KnownObject<?> rewrite : now.rewrites().values()) {
      write(api, InferenceKind.REWRITE, rewrite, List.of(Condition.accepted(now.faults(rewrite))));
    }
  }

  private void write(KubernetesApi api, InferenceKind kind, KnownObject<?> known, List<Condition> conditions)
      throws IOException, InterruptedException {
    try {
      Written last = written.get(known.uid());
      JsonNode object = last != null && last.read.equals(known.version()) ? last.object : known.object();
      for (int attempt = 0; object != null && attempt < MAX_ATTEMPTS; attempt++) {
        object = tryWrite(api, kind, known, object, conditions);
      }
    } catch (KubernetesApiException refusal) {
      if (!refusal.isMissing() && refused == null) {
        refused = refusal;
      }
    }
  }

  /** Writes the status of an object as it was read; returns it as it is now when that was overtaken, null when done. */
  private @Nullable JsonNode tryWrite(
      KubernetesApi api, InferenceKind kind, KnownObject<?> known, JsonNode object, List<Condition> conditions)
      throws IOException, InterruptedException {
    ObjectNode patch = patch(kind, object, conditions);
    if (patch == null) {
      return null;
    }
    ObjectKey key = ObjectKey.of(object);
    try {
      JsonNode after = api.patchStatus(known.resource(), key, patch);
      written.put(known.uid(), new Written(known.version(), after));
    } catch (KubernetesApiException refusal) {
      if (!refusal.isConflict()) {
        throw refusal;
      }
      metrics.write(InferenceMetrics.Write.CONFLICT);
      // The watch brings a new specification.
      return api.get(known.resource(), key).filter(latest -> hasSameSpecification(latest, object)).orElse(null);
    }
    metrics.write(InferenceMetrics.Write.WRITTEN);
    report(api, kind, object, conditions);
    return null;
  }

  private static boolean hasSameSpecification(JsonNode one, JsonNode other) {
    return one.at("/metadata/uid").equals(other.at("/metadata/uid"))
        && one.at("/metadata/generation").equals(other.at("/metadata/generation"));
  }

  private @Nullable ObjectNode patch(InferenceKind kind, JsonNode object, List<Condition> conditions) {
    return switch (kind) {
      case POOL -> StatusPatch.parents(object, controller, parent(object), conditions, clock.instant());
      case OBJECTIVE, REWRITE -> StatusPatch.conditions(object, conditions, clock.instant());
    };
  }

  /**
   * What the pool serves through, as far as this cluster of routers has a part in it: the picker that the pool refers
   * to, or the routers themselves. The gateways' own entries are theirs.
   */
  private static ObjectNode parent(JsonNode pool) {
    JsonNode picker = pool.at("/spec/endpointPickerRef");
    String name = picker.path("name").asText("");
    ObjectNode parent = JSON.objectNode();
    if (name.isEmpty()) {
      return parent.put("group", "kvasir.io").put("kind", "Router").put("name", "kvasir");
    }
    return parent
        .put("group", picker.path("group").asText(""))
        .put("kind", picker.path("kind").asText("Service"))
        .put("name", name)
        .put("namespace", ObjectKey.of(pool).namespace());
  }

  /** Whether the picker that gateways are to ask is there: a service, and not one that only stands for another name. */
  private Condition resolvedReferences(KubernetesApi api, KnownObject<InferencePool> pool)
      throws IOException, InterruptedException {
    JsonNode reference = pool.object().at("/spec/endpointPickerRef");
    if (reference.path("name").asText("").isEmpty()) {
      return new Condition(Condition.RESOLVED_REFS, "True", "ResolvedRefs", "there is no reference to resolve");
    }
    String kind = reference.path("kind").asText("Service");
    if (!kind.equals("Service") || !reference.path("group").asText("").isEmpty()) {
      return invalidReference("a picker of the kind " + kind + " is not known");
    }
    ObjectKey key = new ObjectKey(ObjectKey.of(pool.object()).namespace(), reference.path("name").asText());
    if (!services.contains(key)) {
      Optional<JsonNode> service = api.get(ApiResource.SERVICES, key);
      if (service.isEmpty()) {
        return invalidReference("there is no Service " + key);
      }
      if (service.get().at("/spec/type").asText().equals("ExternalName")) {
        return invalidReference("the Service " + key + " is an ExternalName");
      }
      services.add(key);
    }
    return new Condition(Condition.RESOLVED_REFS, "True", "ResolvedRefs", "the Service " + key + " is there");
  }

  private static Condition invalidReference(String message) {
    return new Condition(Condition.RESOLVED_REFS, "False", "InvalidExtensionRef", message);
  }

  /** Creates an event for each condition that has become false, or false for another reason. */
  private void report(KubernetesApi api, InferenceKind kind, JsonNode object, List<Condition> conditions)
      throws IOException, InterruptedException {
    JsonNode present =
        kind == InferenceKind.POOL
            ? StatusPatch.own(object, controller).path("conditions")
            : object.at("/status/conditions");
    for (Condition condition : conditions) {
      if (condition.isFalse() && !condition.isAmong(present)) {
        ObjectKey key = ObjectKey.of(object);
        LOG.warn("{} {}: {}", kind.kind(), key, condition.message());
        api.create(
            ApiResource.EVENTS, key.namespace(), WarningEvent.of(kind.kind(), object, condition, clock.instant()));
      }
    }
  }
}
