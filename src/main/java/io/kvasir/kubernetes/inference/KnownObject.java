package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.kubernetes.ApiResource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An object as it is, and what is in force of it. Immutable.
 *
 * @param resource which the API has it by
 * @param object as the API has it; not to be changed
 * @param inForce its last specification without a fault, null when it never had one since this node runs
 * @param faults of its present specification, none for a valid one
 */
record KnownObject<T>(ApiResource resource, JsonNode object, @Nullable T inForce, List<String> faults) {
  String version() {
    return object.at("/metadata/resourceVersion").asText("");
  }

  String uid() {
    return object.at("/metadata/uid").asText("");
  }

  String created() {
    return object.at("/metadata/creationTimestamp").asText("");
  }
}
