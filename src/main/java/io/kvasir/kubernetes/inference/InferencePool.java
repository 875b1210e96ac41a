package io.kvasir.kubernetes.inference;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.kubernetes.ObjectKey;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The specification of an InferencePool. Immutable.
 *
 * @param key its namespace and name
 * @param matchLabels the labels that its pods have, all of them; at least one
 * @param targetPorts the ports that each of its pods serves on, 1..8; each is a worker
 * @param picker what gateways ask for an endpoint, null when the pool does not say
 */
public record InferencePool(
    ObjectKey key, Map<String, String> matchLabels, List<Integer> targetPorts, @Nullable PickerReference picker) {
  /**
   * What gateways ask for an endpoint of the pool.
   *
   * @param kind {@code Service}, or what some gateway knows
   * @param name of it, in the pool's namespace
   */
  public record PickerReference(String kind, String name) {}

  /** Copies what it is given. */
  public InferencePool {
    matchLabels = Map.copyOf(matchLabels);
    targetPorts = List.copyOf(targetPorts);
  }

  /** Whether a pod is the pool's. */
  public boolean selects(JsonNode pod) {
    if (!pod.at("/metadata/namespace").asText().equals(key.namespace())) {
      return false;
    }
    JsonNode labels = pod.at("/metadata/labels");
    return matchLabels.entrySet().stream()
        .allMatch(label -> labels.path(label.getKey()).asText("\0").equals(label.getValue()));
  }

  /** The selector of its pods as the API takes it. */
  public String selector() {
    return matchLabels.entrySet().stream()
        .map(label -> label.getKey() + "=" + label.getValue())
        .sorted()
        .collect(Collectors.joining(","));
  }
}
