package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Merge patches that bring an object's status up to date. Each names the version of the object it was made for, because
 * lists are replaced whole: written over a later change it would undo what another controller wrote.
 */
final class StatusPatch {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  /** The schema allows no more. */
  private static final int MOST_PARENTS = 32;

  private StatusPatch() {}

  /** For an object with conditions of its own; null when they are as they have to be. */
  static @Nullable ObjectNode conditions(JsonNode object, List<Condition> conditions, Instant now) {
    JsonNode present = object.at("/status/conditions");
    ArrayNode set = Condition.set(present, conditions, generation(object), now);
    return Condition.isSame(present, set) ? null : patch(object, "conditions", set);
  }

  /**
   * For an InferencePool, whose conditions each of its parents has apart; null when they are as they have to be, or
   * when there is no room.
   *
   * @param controller whose entry is written; those of others stay as they are
   * @param parent what the pool serves through
   */
  static @Nullable ObjectNode parents(
      JsonNode pool, String controller, ObjectNode parent, List<Condition> conditions, Instant now) {
    ArrayNode parents = JSON.arrayNode();
    for (JsonNode each : pool.at("/status/parents")) {
      if (!each.path("controllerName").asText().equals(controller)) {
        parents.add(each);
      }
    }
    JsonNode own = own(pool, controller);
    ArrayNode set = Condition.set(own.path("conditions"), conditions, generation(pool), now);
    boolean same = own.path("parentRef").equals(parent) && Condition.isSame(own.path("conditions"), set);
    if (same || parents.size() >= MOST_PARENTS) {
      return null;
    }
    ObjectNode entry = parents.addObject();
    entry.set("parentRef", parent);
    entry.put("controllerName", controller);
    entry.set("conditions", set);
    return patch(pool, "parents", parents);
  }

  /** A controller's entry in the status of a pool; a missing node without one. */
  static JsonNode own(JsonNode pool, String controller) {
    for (JsonNode each : pool.at("/status/parents")) {
      if (each.path("controllerName").asText().equals(controller)) {
        return each;
      }
    }
    return JSON.missingNode();
  }

  private static JsonNode generation(JsonNode object) {
    return object.at("/metadata/generation");
  }

  private static ObjectNode patch(JsonNode object, String field, ArrayNode value) {
    ObjectNode patch = JSON.objectNode();
    patch.putObject("metadata").set("resourceVersion", object.at("/metadata/resourceVersion"));
    patch.putObject("status").set(field, value);
    return patch;
  }
}
