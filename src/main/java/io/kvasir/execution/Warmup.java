package io.kvasir.execution;

import io.kvasir.cell.Decision;

/**
 * Prepares a worker before it gets a prompt, such as by having cached blocks loaded. Bounded in time; the request goes
 * on whatever comes of it, so it throws nothing. Thread-safe.
 */
@FunctionalInterface
public interface Warmup {
  /** Prepares nothing. */
  Warmup NONE = (_, _) -> {};

  /** Prepares the worker, on the request's own virtual thread, with its load booked. */
  void prepare(Call call, Decision.Chosen reader);
}
