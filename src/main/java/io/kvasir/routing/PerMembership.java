package io.kvasir.routing;

import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.FleetCosts;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Something derived from a fleet's table of workers, made anew when the table is another one. A cell's table
 * is immutable and replaced on every change of membership, so its identity tells whether what was derived
 * still holds. That turns looking at 256 workers per decision into looking at them per change of membership.
 * What is derived from something else besides is made anew when that has another version, too.
 *
 * <p>Thread-safe; what is derived must be, too.
 *
 * @param <V> what is derived
 */
public final class PerMembership<V> {
  private static final Deployment NO_DEPLOYMENT = new Deployment("", "");

  private final Function<Worker[], V> derive;
  private final LongSupplier version;
  private volatile @Nullable Derived<V> last;

  /** Derives with {@code derive} from a table as wide as the cell, with nulls where a slot is empty. */
  public PerMembership(Function<Worker[], V> derive) {
    this(derive, () -> 0);
  }

  /** Derives anew when {@code version} changes, too. */
  public PerMembership(Function<Worker[], V> derive, LongSupplier version) {
    this.derive = derive;
    this.version = version;
  }

  /** What the workers' engines cost. */
  public static PerMembership<FleetCosts> costs(CostModel costs) {
    return new PerMembership<>(
        table -> costs.of(Arrays.stream(table).map(PerMembership::deployment).toList()), costs::version);
  }

  /** What belongs to the candidates' table. */
  @SuppressWarnings("ReferenceEquality") // a table is replaced, never changed
  public V of(Candidates candidates) {
    Worker[] table = candidates.workers;
    long now = version.getAsLong();
    Derived<V> derived = last;
    if (derived == null || derived.table != table || derived.version != now) {
      derived = new Derived<>(table, now, derive.apply(Arrays.copyOf(table, candidates.slots())));
      last = derived;
    }
    return derived.value;
  }

  private static Deployment deployment(@Nullable Worker worker) {
    return worker == null ? NO_DEPLOYMENT : worker.deployment();
  }

  private record Derived<V>(Worker[] table, long version, V value) {}
}
