package io.kvasir.engines;

import org.jspecify.annotations.Nullable;

/**
 * How an engine hands KV blocks over to others; what it does not tell is null.
 *
 * @param connector in the engine's own words, such as {@code NixlConnector} or {@code mooncake}
 * @param role what it is for; connectors of vLLM that work both ways do not tell
 * @param bootstrapPort the port of its bootstrap server
 * @param engineId by which others know it
 */
public record TransferDescription(
    String connector, @Nullable Role role, @Nullable Integer bootstrapPort, @Nullable String engineId) {

  /** What an engine is for where prefill and decode are divided. */
  public enum Role { PREFILL, DECODE }
}
