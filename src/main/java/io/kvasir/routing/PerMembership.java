package io.kvasir.routing;

import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.EngineInstance;
import io.kvasir.routing.cost.FleetCosts;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A cached value derived from a fleet's table of workers. A cell's table is immutable and replaced on every change of
 * membership, so the value is valid for as long as the table is the same object: 256 workers are read once per change
 * of membership and not once per decision. A value with another input besides is derived again when that input's
 * version changes, too.
 *
 * <p>Thread-safe; values must be thread-safe, too.
 *
 * @param <V> type of the derived value
 */
public final class PerMembership<V> {
  private static final EngineInstance NO_ENGINE = new EngineInstance(new Deployment("", ""), "");

  private final Function<Worker[], V> derive;
  private final LongSupplier version;
  private volatile @Nullable Derived<V> latest;

  /** Derives with {@code derive} from a table as wide as the cell, with nulls where a slot is empty. */
  public PerMembership(Function<Worker[], V> derive) {
    this(derive, () -> 0);
  }

  /** Derives with {@code derive}, again also when {@code version} changes. */
  public PerMembership(Function<Worker[], V> derive, LongSupplier version) {
    this.derive = derive;
    this.version = version;
  }

  /** The costs of the workers' engines. */
  public static PerMembership<FleetCosts> costs(CostModel costs) {
    return new PerMembership<>(
        table -> costs.of(Arrays.stream(table).map(PerMembership::engine).toList()), costs::version);
  }

  /** The value for the candidates' table. */
  @SuppressWarnings("ReferenceEquality") // a table is replaced, never changed
  public V of(Candidates candidates) {
    Worker[] table = candidates.workers;
    long currentVersion = version.getAsLong();
    Derived<V> derived = latest;
    if (derived == null || derived.table != table || derived.version != currentVersion) {
      derived = new Derived<>(table, currentVersion, derive.apply(Arrays.copyOf(table, candidates.slots())));
      latest = derived;
    }
    return derived.value;
  }

  private static EngineInstance engine(@Nullable Worker worker) {
    return worker == null ? NO_ENGINE : worker.instance();
  }

  private record Derived<V>(Worker[] table, long version, V value) {}
}
