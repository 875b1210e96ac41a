package io.kvasir.locations;

import io.kvasir.locations.SharedLocations.Lookup;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import java.time.Duration;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;

/**
 * Which worker has which stored response, as far as this node knows, or another does. Bounded: what all have forgotten
 * goes to any worker. Thread-safe; its actor ends with the system.
 */
public final class StoredResponses {
  static final String KIND = "kvasir-stored-responses";

  /** So that a stranger with invented ids costs little. */
  static final int WIDE = 20;

  private static final SharedLocations.Limits LIMITS = new SharedLocations.Limits(Duration.ofMillis(500), WIDE);

  private final SharedLocations locations;
  private final Counter lookups;

  private StoredResponses(SharedLocations locations, Metrics metrics) {
    this.locations = locations;
    this.lookups =
        Counter.builder()
            .name("kvasir_stored_response_lookups_total")
            .help("Requests for a stored response, or that build on one, by who knew its worker: this node (local),"
                + " another (peer), none (unknown), so that any worker may get it, or none of those that should, while"
                + " too many such came for the others to be asked (unqueried)")
            .labelNames("known_by")
            .register(metrics.registry());
  }

  /** Those of a node without others. */
  public static StoredResponses alone(Metrics metrics) {
    return new StoredResponses(SharedLocations.alone(), metrics);
  }

  /**
   * Those of a node among others. Once for each actor system, with which it ends.
   *
   * @param system a member of the cluster, or about to become one
   */
  public static StoredResponses start(ActorSystem<?> system, Metrics metrics) {
    return new StoredResponses(SharedLocations.start(system, KIND, LIMITS), metrics);
  }

  /** How many other nodes remember responses, too. */
  int nodes() {
    return locations.nodes();
  }

  /** Remembers where a response is, here and on two other nodes. Does not wait for them. */
  public void remember(String response, WorkerLocation location) {
    locations.remember(response, location);
  }

  /** Where a response is; null when no node knows. Waits for other nodes, seldom and a second at most. */
  public @Nullable WorkerLocation find(String response) {
    Lookup lookup = locations.find(response);
    lookups.labelValues(lookup.knownBy().label()).inc();
    return lookup.location();
  }
}
