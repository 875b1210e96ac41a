package io.kvasir.pools;

import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The pools that are known, with what belongs to them. Immutable.
 *
 * @param pools each once
 * @param rewrites of their models, in the order in which they count: the oldest first
 * @param objectives of their requests
 */
public record PoolSet(List<Pool> pools, List<ModelRewrite> rewrites, List<Objective> objectives) {
  /** No pools. */
  public static final PoolSet NONE = new PoolSet(List.of(), List.of(), List.of());

  /** Copies what it is given. */
  public PoolSet {
    pools = List.copyOf(pools);
    rewrites = List.copyOf(rewrites);
    objectives = List.copyOf(objectives);
  }

  /** The pool of that {@link Pool#id}, null without one. */
  public @Nullable Pool pool(String id) {
    for (Pool pool : pools) {
      if (pool.id().equals(id)) {
        return pool;
      }
    }
    return null;
  }

  /**
   * The model that a pool's request gets in place of the one that it names, null when no rule is for that. A rule for
   * the very name goes before one for every name.
   *
   * @param random uniform in 0..1, 1 excluded: decides between targets by their weights
   */
  public ModelRewrite.@Nullable Choice rewritten(String pool, String model, double random) {
    ModelRewrite.Choice exact = ModelRewrite.first(rewrites, pool, model, true, random);
    return exact != null ? exact : ModelRewrite.first(rewrites, pool, model, false, random);
  }

  /** The priority of a pool's requests that refer to an objective; 0 for one that is not known. */
  public int priority(String pool, String objective) {
    for (Objective known : objectives) {
      if (known.pool().equals(pool) && known.name().equals(objective)) {
        return known.priority();
      }
    }
    return 0;
  }

  /** These and others; of two pools with one id the first counts. */
  PoolSet and(PoolSet others) {
    return new PoolSet(
        Stream.concat(pools.stream(), others.pools.stream().filter(other -> pool(other.id()) == null)).toList(),
        Stream.concat(rewrites.stream(), others.rewrites.stream()).toList(),
        Stream.concat(objectives.stream(), others.objectives.stream()).toList());
  }
}
