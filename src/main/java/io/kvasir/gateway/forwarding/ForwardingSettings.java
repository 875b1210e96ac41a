package io.kvasir.gateway.forwarding;

/**
 * What of a client's request reaches an engine.
 *
 * @param paths the paths that clients may reach
 * @param reserved the fields and headers that only the router may set
 * @param proxies whose word is taken for where a request came from
 * @param clientKeys whether the client's API key is passed on: engines with keys of their own that clients know
 */
public record ForwardingSettings(
    ServedPaths paths, ReservedFields reserved, TrustedProxies proxies, boolean clientKeys) {
  /** The paths of inference, every field, no trusted proxy, and the client's key. */
  public static ForwardingSettings defaults() {
    return new ForwardingSettings(ServedPaths.INFERENCE, ReservedFields.none(), TrustedProxies.NONE, true);
  }
}
