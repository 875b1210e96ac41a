package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.Worker;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;

/**
 * A value derived from a fleet's table of workers and a key that comes with requests, cached until the table changes.
 * The cache holds at most {@value #MAX_KEYS} keys; values of further keys are derived for each request, so that clients
 * cannot fill the memory. Thread-safe.
 *
 * @param <K> type of the key
 * @param <V> type of the derived value
 */
final class PerMembershipAndKey<K, V> {
  private static final int MAX_KEYS = 1000;

  private final BiFunction<Worker[], K, V> derive;
  private final PerMembership<Cached<K, V>> caches;

  /** Derives with {@code derive} from a table as wide as the cell, with nulls where a slot is empty. */
  PerMembershipAndKey(BiFunction<Worker[], K, V> derive) {
    this.derive = derive;
    this.caches = new PerMembership<>(table -> new Cached<>(table, new ConcurrentHashMap<>()));
  }

  V of(Candidates candidates, K key) {
    Cached<K, V> cached = caches.of(candidates);
    V value = cached.byKey.get(key);
    if (value == null) {
      value = derive.apply(cached.table, key);
      if (cached.byKey.size() < MAX_KEYS) {
        cached.byKey.put(key, value);
      }
    }
    return value;
  }

  private record Cached<K, V>(Worker[] table, Map<K, V> byKey) {}
}
