package io.kvasir.gateway;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How the gateway behaves.
 *
 * @param scheme of the listener, for {@code X-Forwarded-Proto}: {@code http}, or {@code https} when it speaks TLS
 * @param usageInjection whether streams of chat and completions whose client does not ask for usage are made to
 *     carry it: the router requests it of the engine and keeps the extra event from the client. Off, the engine's
 *     counts are unknown for such streams
 * @param keepAlive silence after which a stream sends a keep-alive, so that no proxy cuts it; null for none
 * @param storedResponses how many ids of the Responses API are remembered with the worker that holds them
 */
public record GatewaySettings(
    String scheme, boolean usageInjection, @Nullable Duration keepAlive, int storedResponses) {
  /** How many ids of the Responses API a node remembers. */
  public static final int STORED_RESPONSES = 100_000;

  /** Plain HTTP, with bodies as clients send them. */
  public static GatewaySettings defaults() {
    return new GatewaySettings("http", false, Duration.ofSeconds(15), STORED_RESPONSES);
  }
}
