package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.events.EventFeed;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Role;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What a pod's description may leave out.
 *
 * @param role what its workers may do
 * @param labels for filters and locality
 * @param maxInFlight requests each worker may have in flight
 * @param engine the defaults of its engine
 * @param events reads where its events come from
 * @param kvTransfer reads how it hands KV blocks over
 */
public record PodDefaults(
    Role role,
    Map<String, String> labels,
    int maxInFlight,
    EngineDefaults engine,
    EventsParser events,
    KvTransferParser kvTransfer) {
  private static final URI ANY = URI.create("http://pod");

  /** The most capacity a worker can be given: what the index can name. */
  public static final int MOST_CAPACITY = 1 << 24;

  /**
   * What the description of a pod's engine may leave out.
   *
   * @param name name of its latency coefficients
   * @param ranks its data-parallel ranks
   * @param maxRanks the most it may have: the slots of a cell
   * @param blockSize tokens in a KV block, by the pod's first model
   * @param capacityBlocks blocks each worker is assumed to keep where its engine does not report it
   * @param retention how it is told to keep what programs have used
   */
  public record EngineDefaults(
      String name, int ranks, int maxRanks, ToIntFunction<String> blockSize, int capacityBlocks,
      Retention retention) {}

  /** Whether they say how pods hand KV blocks over: then that is not assumed of an engine that does not tell it. */
  public boolean transfer() {
    return kvTransfer.read(null, Role.BOTH, ANY, (_, _) -> {}) != null;
  }

  /** Reads a pod's {@code events} as the configuration does. */
  @FunctionalInterface
  public interface EventsParser {
    /**
     * The feeds that a section, or a list of them, describes.
     *
     * @param ranks of the pod
     * @param faults takes the path and the problem of each fault; the result is then of no use
     */
    List<EventFeed> read(JsonNode events, int ranks, BiConsumer<String, String> faults);
  }

  /** Reads a pod's {@code kv-transfer} as the configuration does. */
  @FunctionalInterface
  public interface KvTransferParser {
    /**
     * What a section describes, laid over the defaults; null when the pod hands nothing over.
     *
     * @param given null when the description has none
     * @param role the pod's
     * @param url the pod's
     * @param faults takes the path and the problem of each fault; the result is then of no use
     */
    @Nullable KvTransfer read(@Nullable JsonNode given, Role role, URI url, BiConsumer<String, String> faults);
  }
}
