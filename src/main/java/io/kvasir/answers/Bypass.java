package io.kvasir.answers;

import java.util.Locale;

/** Why a request is not answered from the cache. */
public enum Bypass {
  /** Answers of this path are not kept. */
  API,
  /** The request has {@code Cache-Control: no-cache}; its answer replaces the stored one. */
  NO_CACHE,
  /** The request has {@code Cache-Control: no-store}. */
  NO_STORE,
  /** Neither temperature 0 nor a seed. */
  SAMPLED,
  /** The request is for more than one answer. */
  SEVERAL,
  /** Depends on what an engine remembers, or makes it remember something. */
  STATEFUL,
  /** Offers a tool that changes something, or that the engine's side runs. */
  SIDE_EFFECTS,
  /** The store does not answer. */
  STORE_AWAY,
  /** Too many wait for the same answer. */
  CROWDED,
  /** The router refused the identical request for whose answer it waited. */
  REFUSED;

  /** In headers and metrics: {@code no_cache} … */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
