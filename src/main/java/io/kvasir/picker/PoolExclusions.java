package io.kvasir.picker;

import io.kvasir.cell.Cells;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.pools.Pool;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The workers outside pools, which a pool's request must not go to: found once and remembered while the roster stays as
 * it is, as looking at every worker's labels for each request would cost more than deciding. Thread-safe.
 */
final class PoolExclusions {
  /** What is remembered at most: pools times models. */
  private static final int MOST = 1024;

  private final Cells cells;
  private volatile Remembered remembered = new Remembered(Set.of(), new ConcurrentHashMap<>());

  private record Key(Pool pool, String model) {}

  /**
   * What was found in a roster.
   *
   * @param roster the very set of its workers' ids
   */
  private record Remembered(Set<String> roster, Map<Key, Set<String>> excluded) {}

  PoolExclusions(Cells cells) {
    this.cells = cells;
  }

  @SuppressWarnings("ReferenceEquality") // A roster that has changed has another set, also of the same ids.
  private Remembered remembered() {
    Set<String> roster = cells.workerIds();
    Remembered now = remembered;
    if (now.roster != roster) {
      now = new Remembered(roster, new ConcurrentHashMap<>());
      remembered = now;
    }
    return now;
  }

  /** The ids of a model's workers that are not the pool's; null when none of them is. */
  @Nullable Set<String> of(Pool pool, String model) {
    Remembered now = remembered();
    Key key = new Key(pool, model);
    Set<String> known = now.excluded.get(key);
    if (known != null) {
      return known;
    }
    List<WorkerSummary> workers = cells.workers(model);
    Set<String> outside = new HashSet<>();
    for (WorkerSummary worker : workers) {
      if (!pool.has(worker.labels(), worker.url().getPort())) {
        outside.add(worker.id());
      }
    }
    if (outside.size() == workers.size()) {
      // Not remembered, as clients may name any model.
      return null;
    }
    Set<String> found = Set.copyOf(outside);
    if (now.excluded.size() < MOST) {
      now.excluded.put(key, found);
    }
    return found;
  }
}
