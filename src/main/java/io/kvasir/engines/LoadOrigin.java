package io.kvasir.engines;

/** Where the router reads an engine's load from: requests that run and wait, and the use of its KV cache. */
public sealed interface LoadOrigin {
  /** From where the engine announces that it pushes it. */
  record Pushed(LoadFeed feed) implements LoadOrigin {}

  /** From a page of these gauges alone, which costs the engine a tenth of that of all its metrics. */
  record Alone() implements LoadOrigin {}

  /** From the page of all its metrics. */
  record Metrics() implements LoadOrigin {}

  /** From nowhere: what the router itself has sent is all that it knows. */
  record None() implements LoadOrigin {}
}
