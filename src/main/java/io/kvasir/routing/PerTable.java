package io.kvasir.routing;

import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.EngineCost;
import java.util.Arrays;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Something derived from a fleet's table of workers, made anew when the table is another one. A cell's table
 * is immutable and replaced on every change of membership, so its identity tells whether what was derived
 * still holds. That turns looking at 256 workers per decision into looking at them per change of membership.
 *
 * <p>Thread-safe; what is derived must be, too.
 *
 * @param <V> what is derived
 */
public final class PerTable<V> {
  private final Function<Worker[], V> derive;
  private volatile @Nullable Derived<V> last;

  /** Derives with {@code derive}, which meets nulls where a slot is empty. */
  public PerTable(Function<Worker[], V> derive) {
    this.derive = derive;
  }

  /** What each worker's engine costs, by slot, that of an unknown engine where the slot is empty. */
  public static PerTable<EngineCost[]> costs(CostModel costs) {
    return new PerTable<>(
        table ->
            Arrays.stream(table)
                .map(worker -> costs.of(worker == null ? "" : worker.engine()))
                .toArray(EngineCost[]::new));
  }

  /** What belongs to the candidates' table. */
  @SuppressWarnings("ReferenceEquality") // a table is replaced, never changed
  public V of(Candidates candidates) {
    Worker[] table = candidates.workers;
    Derived<V> derived = last;
    if (derived == null || derived.table != table) {
      derived = new Derived<>(table, derive.apply(table));
      last = derived;
    }
    return derived.value;
  }

  private record Derived<V>(Worker[] table, V value) {}
}
