package io.kvasir.locations;

import io.kvasir.locations.SharedLocations.Lookup;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.pekko.actor.typed.ActorSystem;
import org.jspecify.annotations.Nullable;

/**
 * Which workers the last request of a session went to, as far as this node knows, or another does. The home of a cell
 * knows it best; this is for the home that comes after it. Bounded. Thread-safe; its actor ends with the system.
 */
public final class Sessions {
  /** Less than for a stored response: without its worker a session only loses its cache. */
  private static final SharedLocations.Limits LIMITS = new SharedLocations.Limits(Duration.ofMillis(200), 0);

  /** How long after nodes have come or left every request has those that should know remember its session. */
  private static final Duration SETTLING = Duration.ofMinutes(10);

  /** One of so many requests of a session has the other nodes remember it anew, that they do not forget it. */
  private static final int RENEWED = 16;

  private final SharedLocations locations;
  private final Counter lookups;

  private Sessions(SharedLocations locations, Metrics metrics) {
    this.locations = locations;
    this.lookups =
        Counter.builder()
            .name("kvasir_session_lookups_total")
            .help("Requests of sessions whose worker this node did not know, by who knew it: another node (peer) or"
                + " none (unknown), as of a new session")
            .labelNames("known_by")
            .register(metrics.registry());
  }

  /**
   * Those of a node among others. Once for each actor system, with which it ends.
   *
   * @param system a member of the cluster, or about to become one
   */
  public static Sessions start(ActorSystem<?> system, Metrics metrics) {
    return new Sessions(SharedLocations.start(system, "kvasir-sessions", LIMITS), metrics);
  }

  /** How many other nodes remember sessions, too. */
  int nodes() {
    return locations.nodes();
  }

  /**
   * The workers of a session, with commas between; null when no node knows. Waits for other nodes where this one does
   * not know, seldom and 400 ms at most.
   */
  public @Nullable String find(String session) {
    Lookup lookup = locations.find(session);
    if (lookup.knownBy() != SharedLocations.KnownBy.LOCAL) {
      lookups.labelValues(lookup.knownBy().label()).inc();
    }
    return lookup.location() == null ? null : lookup.location().worker();
  }

  /**
   * Remembers the workers of a session, here and on two other nodes. Does not wait for them.
   *
   * @param model by which they were requested
   * @param workers their ids, with commas between
   */
  public void remember(String session, String model, String workers) {
    WorkerLocation now = new WorkerLocation(workers, model, "");
    if (!now.equals(locations.local(session))
        || locations.changedWithin(SETTLING)
        || ThreadLocalRandom.current().nextInt(RENEWED) == 0) {
      locations.remember(session, now);
    }
  }
}
