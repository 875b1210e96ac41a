package io.kvasir.engines;

import java.util.Arrays;
import java.util.Locale;
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

  /** vLLM's connector that most of its divided engines have: decode pulls from prefill. */
  static final String NIXL = "NixlConnector";

  /** vLLM's connector by which prefill pushes. */
  static final String NIXL_PUSH = "NixlPushConnector";

  /** What TensorRT-LLM's engines hand over by, all of them. */
  static final String TRANSCEIVER = "cache transceiver";

  /** vLLM's OffloadingConnector with a tier by which engines pull from each other. */
  public static final String PEERS = "OffloadingConnector, p2p";

  /** What an engine is for where prefill and decode are divided. */
  public enum Role {
    PREFILL, DECODE;

    /** The role of that label; null for any other, such as {@code both}. */
    public static @Nullable Role of(String label) {
      return Arrays.stream(values()).filter(role -> role.label().equals(label)).findFirst().orElse(null);
    }

    /** Its name in configurations, such as {@code prefill}. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The same for a role that the engine's operator says. */
  TransferDescription as(Role given) {
    return new TransferDescription(connector, given, bootstrapPort, engineId);
  }
}
