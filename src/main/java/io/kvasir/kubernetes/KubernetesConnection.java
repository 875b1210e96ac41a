package io.kvasir.kubernetes;

import java.net.URI;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where the API server is, and by what a node and it know each other.
 *
 * @param api address of the API server
 * @param token file with the bearer token, read for each request because Kubernetes rotates it
 * @param authority file with the certificates of the API's authority, in PEM; read for https only
 */
public record KubernetesConnection(URI api, Path token, Path authority) {
  /** The API server of the cluster that this process runs in; empty outside Kubernetes. */
  public static Optional<URI> ownCluster() {
    String host = System.getenv("KUBERNETES_SERVICE_HOST");
    String port = System.getenv("KUBERNETES_SERVICE_PORT");
    return Optional.ofNullable(host)
        .map(
            name ->
                URI.create(
                    "https://" + (name.contains(":") ? "[" + name + "]" : name) + ":"
                        + (port == null ? "443" : port)));
  }
}
