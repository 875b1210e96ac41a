package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.Worker;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;

/**
 * Something derived from a fleet's table of workers and a text that comes with requests. The first {@value #MOST} texts
 * are remembered until the table changes; clients that make up more have theirs derived each time. Thread-safe.
 *
 * @param <V> what is derived
 */
final class PerMembershipAndText<V> {
  private static final int MOST = 1000;

  private final BiFunction<Worker[], String, V> derive;
  private final PerMembership<Cached<V>> known;

  /** Derives from a table as wide as the cell, with nulls where a slot is empty. */
  PerMembershipAndText(BiFunction<Worker[], String, V> derive) {
    this.derive = derive;
    this.known = new PerMembership<>(table -> new Cached<>(table, new ConcurrentHashMap<>()));
  }

  V of(Candidates candidates, String text) {
    Cached<V> here = known.of(candidates);
    V value = here.byText.get(text);
    if (value == null) {
      value = derive.apply(here.table, text);
      if (here.byText.size() < MOST) {
        here.byText.put(text, value);
      }
    }
    return value;
  }

  private record Cached<V>(Worker[] table, Map<String, V> byText) {}
}
