package io.kvasir.discovery;

import io.kvasir.cell.PodSpec;
import io.kvasir.kubernetes.ObjectKey;
import io.kvasir.pools.Pool;
import java.util.List;
import java.util.Set;

/**
 * What the API has refused and never let be read here: which pods these are is not known, and whoever read them before
 * may have found some. Immutable.
 *
 * @param selector whether they are those of the configuration's label selector
 * @param pools whose pods they are
 * @param namespaces in which even the pools are not known; an empty name stands for all
 */
record UnreadPods(boolean selector, Set<ObjectKey> pools, Set<String> namespaces) {
  /** Copies the sets. */
  UnreadPods {
    pools = Set.copyOf(pools);
    namespaces = Set.copyOf(namespaces);
  }

  /** Whether a pod that was found before may be among them, by the pools that it was in then. */
  boolean mayHave(PodSpec found) {
    String label = found.labels().get(Pool.LABEL);
    return label == null ? selector : List.of(label.split(",")).stream().anyMatch(this::hasPool);
  }

  private boolean hasPool(String pool) {
    return pools.stream().anyMatch(key -> key.toString().equals(pool))
        || namespaces.contains("")
        || namespaces.contains(pool.substring(0, Math.max(0, pool.indexOf('/'))));
  }
}
