package io.kvasir.sim.settings;

import io.kvasir.enginemodel.EngineModel;
import io.kvasir.enginemodel.HostLink;
import io.kvasir.sim.lmcache.ControllerAddress;
import io.kvasir.sim.lmcache.NoneHash;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A simulated engine's KV cache in host memory, as with LMCache's connector.
 *
 * @param blocks KV blocks per rank; 0 for no host tier
 * @param gbps bandwidth from host to device, gigabits per second
 * @param events whether the engine publishes what is stored there; it never publishes what is dropped, as with LMCache
 * @param controller the LMCache controller that it is reported to; null for none
 * @param coordinator the coordinator of LMCache's multi-process mode that the engine joins; null for none
 * @param instance the engine's id for the controller and the coordinator; for the controller rank r's is {@code
 *     instance-r} with several
 * @param noneHash what LMCache's names of chunks begin from, as {@link io.kvasir.sim.lmcache.NoneHash} has it
 * @param heartbeat between two heartbeats; zero for LMCache's defaults: none to a controller, 5 s to a coordinator
 */
public record HostTierSettings(
    int blocks,
    double gbps,
    boolean events,
    @Nullable ControllerAddress controller,
    @Nullable URI coordinator,
    String instance,
    long noneHash,
    Duration heartbeat) {

  /** Tokens in a chunk, LMCache's unit of copying, and its controller's only one. */
  public static final int CHUNK_TOKENS = 256;

  private static final double SET_UP_MS = 0.5;
  private static final Duration COORDINATOR_HEARTBEAT = Duration.ofSeconds(5);

  /** No host tier. */
  public static final HostTierSettings NONE = of(0);

  /** So many blocks, behind PCIe 5, unknown to any controller. */
  public static HostTierSettings of(int blocks) {
    return new HostTierSettings(
        blocks, 350, false, null, null, "lmcache_default_instance", NoneHash.WITHOUT_VLLM, Duration.ZERO);
  }

  /** These, reported to a controller. */
  public HostTierSettings withController(ControllerAddress address, String as, Duration beat) {
    return new HostTierSettings(blocks, gbps, events, address, coordinator, as, noneHash, beat);
  }

  /** These, as a member of a coordinator's fleet. */
  public HostTierSettings withCoordinator(URI fleet, String as, Duration beat) {
    return new HostTierSettings(blocks, gbps, events, controller, fleet, as, noneHash, beat);
  }

  /** These, published in the engine's events. */
  public HostTierSettings withEvents() {
    return new HostTierSettings(blocks, gbps, true, controller, coordinator, instance, noneHash, heartbeat);
  }

  /** These, with names of chunks that begin from a hash of vLLM's. */
  public HostTierSettings withNoneHash(long hash) {
    return new HostTierSettings(blocks, gbps, events, controller, coordinator, instance, hash, heartbeat);
  }

  /** All faults, by the command line's options; empty when an engine can start. */
  List<String> validate(int blockSize) {
    List<String> wrong = new ArrayList<>();
    if (blocks < 0) {
      wrong.add("host-blocks: must be at least 0, is " + blocks);
    } else if (blocks > 0 && blockSize >= 1 && CHUNK_TOKENS % blockSize != 0) {
      wrong.add("host-blocks: a block-size that divides " + CHUNK_TOKENS + " is needed, not " + blockSize);
    } else if (blocks > 0 && blockSize >= 1 && (long) blocks * blockSize < CHUNK_TOKENS) {
      wrong.add("host-blocks: must hold a chunk of " + CHUNK_TOKENS + " tokens, " + CHUNK_TOKENS / blockSize
          + " blocks at least, is " + blocks);
    }
    if (!(gbps > 0) || Double.isInfinite(gbps)) {
      wrong.add("host-gbps: must be more than 0, is " + gbps);
    }
    if (blocks == 0 && controller != null) {
      wrong.add("lmcache-controller: there is nothing to tell without a host tier; give host-blocks");
    }
    if (blocks == 0 && coordinator != null) {
      wrong.add("lmcache-coordinator: there is nothing to report or prefetch without a host tier; give host-blocks");
    }
    if (coordinator != null && (coordinator.getHost() == null || !"http".equals(coordinator.getScheme()))) {
      wrong.add("lmcache-coordinator: must look like http://host:port, is '" + coordinator + "'");
    }
    if (blocks == 0 && events) {
      wrong.add("host-events: there is nothing to tell without a host tier; give host-blocks");
    }
    if (instance.isBlank()) {
      wrong.add("lmcache-instance: must not be blank");
    }
    if (heartbeat.isNegative()) {
      wrong.add("lmcache-heartbeat-ms: must be at least 0");
    }
    return wrong;
  }

  /** The interval of heartbeats to a coordinator. */
  public Duration coordinatorHeartbeat() {
    return heartbeat.isZero() ? COORDINATOR_HEARTBEAT : heartbeat;
  }

  /** A rank's id for the controller. */
  public String instance(int rank, int ranks) {
    return ranks == 1 ? instance : instance + "-" + rank;
  }

  /** The time that loading from host memory takes. */
  public HostLink link(String engine) {
    return HostLink.of(gbps, EngineModel.named(engine).kvBytesPerToken(), SET_UP_MS);
  }
}
