package io.kvasir.sim.settings;

import org.jspecify.annotations.Nullable;

/** When the usage of answers tells of the tokens that were found in the cache. */
public enum CachedTokensUsage {
  /** In every answer: vLLM since 0.24, SGLang since 0.5.22. */
  ALWAYS,
  /** Where any were found: those before. */
  FOUND,
  /** Never, as engines that were not told to. */
  NEVER;

  /** What usage has of so many tokens; null for nothing. */
  public @Nullable Integer reported(int cached) {
    return switch (this) {
      case ALWAYS -> cached;
      case FOUND -> cached == 0 ? null : cached;
      case NEVER -> null;
    };
  }
}
