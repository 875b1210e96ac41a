package io.kvasir.gateway;

/**
 * How the gateway behaves.
 *
 * @param scheme of the front door, for {@code X-Forwarded-Proto}: {@code http}, or {@code https} when it speaks TLS
 * @param usageInjection whether streams of chat and completions whose client does not ask for usage are made to
 *     carry it: the router asks the engine and keeps the extra event from the client. Off, the engine's own figures
 *     are unknown for such streams
 * @param storedResponses how many ids of the Responses API are remembered with the worker that holds them
 */
public record GatewaySettings(String scheme, boolean usageInjection, int storedResponses) {
  /** Plain HTTP, bodies stay the client's own. */
  public static GatewaySettings defaults() {
    return new GatewaySettings("http", false, 100_000);
  }
}
