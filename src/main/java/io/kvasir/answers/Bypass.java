package io.kvasir.answers;

import java.util.Locale;

/** Why a request is not answered from the cache. */
public enum Bypass {
  /** Answers of this path are not kept. */
  API,
  /** The client asked for a new answer ({@code Cache-Control: no-cache}); it replaces what was kept. */
  NO_CACHE,
  /** The client asked to keep nothing ({@code Cache-Control: no-store}). */
  NO_STORE,
  /** Neither temperature 0 nor a seed. */
  SAMPLED,
  /** The client asked for more than one answer. */
  SEVERAL,
  /** Depends on what an engine remembers, or makes it remember something. */
  STATEFUL,
  /** Offers a tool that changes something, or that the engine's side runs. */
  SIDE_EFFECTS,
  /** The store does not answer. */
  STORE_AWAY,
  /** Too many wait for the same answer. */
  CROWDED;

  /** In headers and metrics: {@code no_cache} … */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
