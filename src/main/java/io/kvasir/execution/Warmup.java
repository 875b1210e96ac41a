package io.kvasir.execution;

import io.kvasir.cell.Decision;

/**
 * What is to be ready at a worker before it is asked to read a prompt. It waits no longer than it may, and whatever
 * becomes of it the request goes on: it throws nothing. Thread-safe.
 */
@FunctionalInterface
public interface Warmup {
  /** Nothing has to be ready. */
  Warmup NONE = (_, _) -> {};

  /** Has it made ready; on the request's own virtual thread, with its load booked. */
  void prepare(Call call, Decision.Chosen reader);
}
