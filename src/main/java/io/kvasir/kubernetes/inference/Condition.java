package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * A condition of an object, by Kubernetes' conventions. Immutable.
 *
 * @param type such as {@code Accepted}
 * @param status {@code True}, {@code False} or {@code Unknown}
 * @param reason for programs, in CamelCase
 * @param message for people
 */
record Condition(String type, String status, String reason, String message) {
  static final String ACCEPTED = "Accepted";
  static final String RESOLVED_REFS = "ResolvedRefs";

  /** The condition that an object is in force, or why its last change is not. */
  static Condition accepted(List<String> faults) {
    return faults.isEmpty()
        ? new Condition(ACCEPTED, "True", "Accepted", "in force")
        : new Condition(ACCEPTED, "False", "Invalid", String.join("; ", faults));
  }

  boolean isFalse() {
    return status.equals("False");
  }

  /**
   * Conditions with some of them set: others stay, and so does the time of one whose status is what it was.
   *
   * @param present the conditions that the object has
   * @param generation of the object that the set ones are about
   */
  static ArrayNode set(JsonNode present, List<Condition> set, JsonNode generation, Instant now) {
    ArrayNode result = JsonNodeFactory.instance.arrayNode();
    for (JsonNode condition : present) {
      if (set.stream().noneMatch(each -> each.type.equals(condition.path("type").asText()))) {
        result.add(condition);
      }
    }
    for (Condition each : set) {
      result.add(each.toJson(each.in(present), generation, now));
    }
    return result;
  }

  /** The condition of its type among those that an object has; a missing node without one. */
  JsonNode in(JsonNode present) {
    for (JsonNode condition : present) {
      if (condition.path("type").asText().equals(type)) {
        return condition;
      }
    }
    return JsonNodeFactory.instance.missingNode();
  }

  /** Whether an object has had this status, for this reason, before. */
  boolean isAmong(JsonNode present) {
    JsonNode before = in(present);
    return before.path("status").asText().equals(status) && before.path("message").asText().equals(message);
  }

  private ObjectNode toJson(JsonNode before, JsonNode generation, Instant now) {
    boolean same = before.path("status").asText().equals(status);
    String since = same ? before.path("lastTransitionTime").asText() : now.truncatedTo(ChronoUnit.SECONDS).toString();
    return JsonNodeFactory.instance.objectNode()
        .put("type", type)
        .put("status", status)
        .<ObjectNode>set("observedGeneration", generation)
        .put("lastTransitionTime", since)
        .put("reason", reason)
        .put("message", message);
  }

  /** Whether two lists have the same conditions, in whatever order. */
  static boolean isSame(JsonNode one, JsonNode other) {
    if (one.size() != other.size()) {
      return false;
    }
    for (JsonNode condition : one) {
      boolean found = false;
      for (JsonNode candidate : other) {
        found |= candidate.equals(condition);
      }
      if (!found) {
        return false;
      }
    }
    return true;
  }
}
