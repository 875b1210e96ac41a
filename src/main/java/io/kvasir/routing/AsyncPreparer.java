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
 * A preparer that asks somebody: it waits for the answer until its deadline, and then, or when the asking fails, goes
 * on with the answer stated for that. The question is then cancelled, and the request counts as prepared late ({@code
 * kvasir_prepared_late_total}).
 *
 * @param <T> what the slot holds
 */
public final class AsyncPreparer<T> implements Preparer {
  private final Slot<T> slot;
  private final Set<Slot<?>> reads;
  private final Supplier<Duration> deadline;
  private final T fallback;
  private final Function<RoutingContext, ? extends CompletionStage<T>> lookup;

  /**
   * Fills one slot by asking.
   *
   * @param slot what the answer fills
   * @param reads slots the question looks at
   * @param deadline how long the answer is waited for, more than 0
   * @param tooLate what fills the slot instead
   * @param question asks without waiting; it may look at the context until it returns, but not later
   */
  public AsyncPreparer(
      Slot<T> slot,
      Set<Slot<?>> reads,
      Duration deadline,
      T tooLate,
      Function<RoutingContext, ? extends CompletionStage<T>> question) {
    this(slot, reads, () -> deadline, tooLate, question);
    if (!deadline.isPositive()) {
      throw new IllegalArgumentException("a deadline is more than 0, not " + deadline);
    }
  }

  /** The same with a deadline that may change while the profile is in service. */
  public AsyncPreparer(
      Slot<T> slot,
      Set<Slot<?>> reads,
      Supplier<Duration> deadline,
      T tooLate,
      Function<RoutingContext, ? extends CompletionStage<T>> question) {
    this.slot = slot;
    this.reads = Set.copyOf(reads);
    this.deadline = deadline;
    this.fallback = tooLate;
    this.lookup = question;
  }

  @Override
  public void prepare(RoutingContext context) {
    CompletableFuture<T> answer = null;
    try {
      answer = lookup.apply(context).toCompletableFuture();
      context.put(slot, answer.get(deadline.get().toNanos(), TimeUnit.NANOSECONDS));
    } catch (TimeoutException | ExecutionException | RuntimeException none) {
      goOn(context, answer);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      goOn(context, answer);
    }
  }

  private void goOn(RoutingContext context, @Nullable CompletableFuture<T> answer) {
    if (answer != null) {
      answer.cancel(true);
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
