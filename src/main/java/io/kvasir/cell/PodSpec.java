package io.kvasir.cell;

import io.kvasir.events.EventFeed;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.List;
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
 * @param capacityBlocks blocks each of its workers is believed to keep where its engine does not report it: one without
 *     events, or prompts that are known by their text only
 * @param events where its cache events come from, none for an engine without events
 * @param kvTransfer how it hands KV blocks over or takes them, null when it does not
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
    int capacityBlocks,
    List<EventFeed> events,
    @Nullable KvTransfer kvTransfer) {
  /** Copies what it is given; parts that a node of another version did not send are empty. */
  public PodSpec {
    events = copy(events);
  }

  private static List<EventFeed> copy(@Nullable List<EventFeed> events) {
    return events == null ? List.of() : List.copyOf(events);
  }

  /** The id of the worker of a rank. */
  public String workerId(int rank) {
    return ranks == 1 ? name : name + "#" + rank;
  }

  /** The worker of a rank, in a slot of its cell. */
  public Worker worker(int rank, int slot) {
    return new Worker(
        workerId(rank), name, url, rank, ranks, slot, role, models, labels, maxInFlight, engine, kvTransfer);
  }
}
