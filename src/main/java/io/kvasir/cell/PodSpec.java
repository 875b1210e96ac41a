package io.kvasir.cell;

import io.kvasir.routing.Role;
import java.net.URI;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An engine endpoint as the operator describes it, in the configuration or to the admin API.
 *
 * @param name unique in the fleet
 * @param url base URL, http or https, without a path
 * @param role what its workers may do
 * @param models names requests may call it by; the first is the base model, the others its LoRA adapters
 * @param ranks data-parallel ranks behind the endpoint, 1..64
 * @param blockSize tokens in one of its KV blocks
 * @param labels free, for filters and locality
 * @param maxInFlight requests each of its workers may have in flight
 * @param engine name of its latency coefficients
 * @param events where its cache events come from, null for an engine without events
 */
public record PodSpec(
    String name,
    URI url,
    Role role,
    Set<String> models,
    int ranks,
    int blockSize,
    Map<String, String> labels,
    int maxInFlight,
    String engine,
    @Nullable EventsSpec events) {

  /**
   * Where a pod's ZMQ events come from. Rank r is found at each port + r.
   *
   * @param endpoint what the router's SUB socket connects to, or binds when {@code bind}
   * @param replay the replay ROUTER's endpoint, null when the engine offers none
   * @param topic topic prefix; when binding, it tells this pod's messages from others'
   * @param bind whether the router binds and the engines dial in
   */
  public record EventsSpec(String endpoint, @Nullable String replay, String topic, boolean bind) {}
}
