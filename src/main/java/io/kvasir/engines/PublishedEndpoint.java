package io.kvasir.engines;

import java.net.URI;
import org.jspecify.annotations.Nullable;

/** The endpoints of {@code --kv-events-config}, as others reach them. */
final class PublishedEndpoint {
  private PublishedEndpoint() {}

  /** An endpoint with the engine's host in place of {@code *} and of the addresses that mean all interfaces. */
  static @Nullable String of(URI engine, @Nullable String endpoint) {
    if (endpoint == null || !endpoint.startsWith("tcp://")) {
      return endpoint;
    }
    int colon = endpoint.lastIndexOf(':');
    String host = endpoint.substring("tcp://".length(), Math.max(colon, "tcp://".length()));
    return isEveryInterface(host) ? "tcp://" + engine.getHost() + endpoint.substring(colon) : endpoint;
  }

  /** The endpoint of a rank, as vLLM derives it from the first one's where that has a port. */
  static String ofRank(String endpoint, int rank) {
    int colon = endpoint.lastIndexOf(':');
    String port = endpoint.substring(colon + 1);
    return endpoint.startsWith("tcp://") && port.matches("\\d{1,5}")
        ? endpoint.substring(0, colon + 1) + (Integer.parseInt(port) + rank)
        : endpoint + "_dp" + rank;
  }

  static boolean isEveryInterface(String host) {
    return host.equals("*") || host.equals("0.0.0.0") || host.equals("::") || host.equals("[::]");
  }

  /** Whether vLLM binds an endpoint; any other it connects to, {@code 0.0.0.0} included. */
  static boolean vllmBinds(String endpoint) {
    return endpoint.contains("*") || endpoint.contains("::") || endpoint.startsWith("ipc://")
        || endpoint.startsWith("inproc://");
  }
}
