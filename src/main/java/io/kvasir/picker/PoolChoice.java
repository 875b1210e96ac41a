package io.kvasir.picker;

import io.kvasir.cell.Cells;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.gateway.body.RequestOutline;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Which pool a stream is about, which no message of it says: by the port that it came in on, the authority that the
 * gateway calls, the endpoints that it allows, and the model, in this order.
 */
final class PoolChoice {
  /** The pool of a picker that knows of none. */
  static final Pool ALL = new Pool("default", "kvasir", Map.of(), List.of(), Set.of(), Set.of(), 0);

  private PoolChoice() {}

  /**
   * The pool of a stream.
   *
   * @param port the listening port
   * @param authority the one that the gateway calls, null when it does not say
   * @param model gives the model of the request, null when it names none
   */
  static Pool of(
      PoolSet known, int port, @Nullable String authority, @Nullable Endpoints subset, Cells cells,
      Supplier<RequestOutline.@Nullable NamedModel> model) {
    List<Pool> pools = known.pools();
    if (pools.isEmpty()) {
      return ALL;
    }
    for (Pool pool : pools) {
      if (pool.port() == port) {
        return pool;
      }
    }
    if (authority != null) {
      for (Pool pool : pools) {
        if (pool.isCalledBy(authority)) {
          return pool;
        }
      }
    }
    if (pools.size() == 1) {
      return pools.getFirst();
    }
    if (subset != null) {
      for (Pool pool : pools) {
        if (has(cells.workers(), new PoolWorkers(pool, subset))) {
          return pool;
        }
      }
    }
    return ofModel(pools, cells, model.get());
  }

  /** The pool that is for a model, else the first that serves it, else the first. */
  private static Pool ofModel(List<Pool> pools, Cells cells, RequestOutline.@Nullable NamedModel model) {
    if (model != null) {
      for (Pool pool : pools) {
        if (pool.models().contains(model.name())) {
          return pool;
        }
      }
      for (Pool pool : pools) {
        if (has(cells.workers(model.name()), new PoolWorkers(pool, null))) {
          return pool;
        }
      }
    }
    return pools.getFirst();
  }

  private static boolean has(List<WorkerSummary> workers, PoolWorkers candidates) {
    return workers.stream().anyMatch(candidates::have);
  }
}
