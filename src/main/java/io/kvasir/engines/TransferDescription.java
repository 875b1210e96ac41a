package io.kvasir.engines;

import org.jspecify.annotations.Nullable;

/**
 * How an engine hands KV blocks over to others; what it does not tell is null.
 *
 * @param connector in the engine's own words, such as {@code NixlConnector} or {@code mooncake}, or {@link #PEERS}
 * @param role what it is for; connectors of vLLM that work both ways do not tell
 * @param bootstrapPort the port of its bootstrap server, or of its side channel for peers
 * @param engineId by which others know it
 */
public record TransferDescription(
    String connector, @Nullable Role role, @Nullable Integer bootstrapPort, @Nullable String engineId) {

  /** vLLM's OffloadingConnector with a tier by which engines pull from each other. */
  public static final String PEERS = "OffloadingConnector, p2p";

  /** What an engine is for where prefill and decode are divided. */
  public enum Role { PREFILL, DECODE }
}
