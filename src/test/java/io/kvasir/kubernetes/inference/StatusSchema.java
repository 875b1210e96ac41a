package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What the published definitions (Gateway API inference extension 1.6.0, llm-d v1alpha2) demand of a status: required
 * fields, patterns, lengths, and lists without two entries of one type. Specifications are not held against it, so that
 * tests can store wrong ones, as servers do whose definition is older or has been relaxed.
 */
final class StatusSchema {
  private static final String TIME = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ";
  private static final String REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
  private static final String CONTROLLER = "[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

  private StatusSchema() {}

  static boolean allowsPool(JsonNode pool) {
    JsonNode parents = pool.at("/status/parents");
    if (parents.size() > 32) {
      return false;
    }
    for (JsonNode parent : parents) {
      if (!parent.path("controllerName").asText().matches(CONTROLLER)
          || parent.at("/parentRef/name").asText().isEmpty()
          || !parent.at("/parentRef/kind").asText("Gateway").matches("[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?")
          || !areConditions(parent.path("conditions"))) {
        return false;
      }
    }
    return true;
  }

  static boolean allows(JsonNode object) {
    return areConditions(object.at("/status/conditions"));
  }

  private static boolean areConditions(JsonNode conditions) {
    Set<String> types = new HashSet<>();
    for (JsonNode condition : conditions) {
      if (!types.add(condition.path("type").asText())
          || !List.of("True", "False", "Unknown").contains(condition.path("status").asText())
          || !condition.path("reason").asText().matches(REASON)
          || !condition.path("message").isTextual()
          || condition.path("message").asText().length() > 32_768
          || !condition.path("lastTransitionTime").asText().matches(TIME)) {
        return false;
      }
    }
    return conditions.size() <= 8;
  }
}
