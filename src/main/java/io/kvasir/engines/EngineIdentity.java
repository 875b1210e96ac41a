package io.kvasir.engines;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * By what an engine is recognised.
 *
 * @param kind whose HTTP interface it has
 * @param version as it tells it, null when it does not
 * @param reasoningParser the name of the parser of thoughts that SGLang was started with, null for none
 * @param simulated whether it is Kvasir's own simulated engine, acting as one of that kind
 * @param pages that it has, of those that it was asked for
 */
public record EngineIdentity(EngineKind kind, @Nullable String version, @Nullable String reasoningParser,
    boolean simulated, Set<EnginePage> pages) {
  /** Copies the set. */
  public EngineIdentity {
    pages = Set.copyOf(pages);
  }

  /** Such as {@code vLLM 0.32.0}. */
  @Override
  public String toString() {
    return kind.label() + (version == null ? "" : " " + version) + (simulated ? " (simulated)" : "");
  }
}
