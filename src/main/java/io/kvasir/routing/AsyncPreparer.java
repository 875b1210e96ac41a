package io.kvasir.routing;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A preparer that fills one slot from an asynchronous lookup. When the lookup fails or is not complete at its deadline,
 * the slot gets the fallback value, the lookup is cancelled, and the request counts as prepared late ({@code
 * kvasir_prepared_late_total}).
 *
 * @param <T> type of the slot's values
 */
public final class AsyncPreparer<T> implements Preparer {
  private final Slot<T> slot;
  private final Set<Slot<?>> reads;
  private final Supplier<Duration> deadline;
  private final T fallback;
  private final Function<RoutingContext, ? extends CompletionStage<T>> lookup;

  /**
   * A preparer with a fixed deadline.
   *
   * @param slot the slot that the lookup fills
   * @param reads slots that the lookup reads
   * @param deadline the longest wait for the lookup, more than 0
   * @param fallback the slot's value when the lookup fails or is late
   * @param lookup starts the lookup without waiting; it may read the context until it returns, but not later
   */
  public AsyncPreparer(
      Slot<T> slot,
      Set<Slot<?>> reads,
      Duration deadline,
      T fallback,
      Function<RoutingContext, ? extends CompletionStage<T>> lookup) {
    this(slot, reads, () -> deadline, fallback, lookup);
    if (!deadline.isPositive()) {
      throw new IllegalArgumentException("a deadline must be more than 0, is " + deadline);
    }
  }

  /** A preparer with a deadline that may change while the profile is in service. */
  public AsyncPreparer(
      Slot<T> slot,
      Set<Slot<?>> reads,
      Supplier<Duration> deadline,
      T fallback,
      Function<RoutingContext, ? extends CompletionStage<T>> lookup) {
    this.slot = slot;
    this.reads = Set.copyOf(reads);
    this.deadline = deadline;
    this.fallback = fallback;
    this.lookup = lookup;
  }

  @Override
  public void prepare(RoutingContext context) {
    CompletableFuture<T> pending = null;
    try {
      pending = lookup.apply(context).toCompletableFuture();
      context.put(slot, pending.get(deadline.get().toNanos(), TimeUnit.NANOSECONDS));
    } catch (TimeoutException | ExecutionException | RuntimeException failed) {
      useFallback(context, pending);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      useFallback(context, pending);
    }
  }

  private void useFallback(RoutingContext context, @Nullable CompletableFuture<T> pending) {
    if (pending != null) {
      pending.cancel(true);
    }
    context.noteMissedLookup();
    context.put(slot, fallback);
  }

  @Override
  public void prepareWithoutWaiting(RoutingContext context) {
    context.put(slot, fallback);
  }

  @Override
  public Set<Slot<?>> reads() {
    return reads;
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(slot);
  }
}
