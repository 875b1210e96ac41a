package io.kvasir.engines;

import org.jspecify.annotations.Nullable;

/**
 * The kind and version of an engine.
 *
 * @param kind whose HTTP interface it has
 * @param version as it tells it, null when it does not
 * @param simulated whether it is Kvasir's own simulated engine, acting as one of that kind
 */
public record EngineIdentity(EngineKind kind, @Nullable String version, boolean simulated) {
  /** Such as {@code vLLM 0.32.0}. */
  @Override
  public String toString() {
    return kind.label() + (version == null ? "" : " " + version) + (simulated ? " (simulated)" : "");
  }
}
