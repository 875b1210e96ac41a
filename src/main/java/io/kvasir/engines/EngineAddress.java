package io.kvasir.engines;

import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * Where an engine is asked what it is.
 *
 * @param url its base URL
 * @param grpcPort vLLM's {@code --grpc-port}, for what HTTP does not tell; null without one
 * @param role what its operator uses it for where prefill and decode are divided, which many engines do not tell; null
 *     where nothing is said of that
 */
public record EngineAddress(URI url, @Nullable Integer grpcPort, TransferDescription.@Nullable Role role) {
  /** The highest port there is. */
  public static final int MAX_PORT = 65_535;

  /** The setting that names the port, in configurations and behind a URL. */
  public static final String GRPC_PORT = "grpc-port";

  /** The setting that names the role, in configurations and behind a URL. */
  public static final String ROLE = "role";

  /** An engine of which no role is said. */
  public EngineAddress(URI url, @Nullable Integer grpcPort) {
    this(url, grpcPort, null);
  }

  /** An engine that is asked over HTTP only. */
  public static EngineAddress of(URI url) {
    return new EngineAddress(url, null);
  }

  /** Such as {@code http://10.0.0.5:8000,grpc-port=50051,role=prefill}. */
  @Override
  public String toString() {
    return url + (grpcPort == null ? "" : "," + GRPC_PORT + "=" + grpcPort)
        + (role == null ? "" : "," + ROLE + "=" + role.label());
  }
}
