package io.kvasir.access;

/** Who shares cached blocks, predictions, stored answers and sessions with a caller. */
public sealed interface Isolation {
  /** Everybody without isolation. */
  record None() implements Isolation {}

  /** The callers of the same tenant. */
  record Tenant() implements Isolation {}

  /** Nobody: the key's own requests only. */
  record Key() implements Isolation {}

  /** The callers whose isolation names the same group. */
  record Group(String name) implements Isolation {}

  /** No isolation. */
  Isolation NONE = new None();
}
