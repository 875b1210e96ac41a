package io.kvasir.engines;

import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * Where an engine is asked what it is.
 *
 * @param url its base URL
 * @param grpcPort vLLM's {@code --grpc-port}, for what HTTP does not tell; null without one
 */
public record EngineAddress(URI url, @Nullable Integer grpcPort) {
  /** The highest port there is. */
  public static final int MAX_PORT = 65_535;

  /** The setting that names the port, in configurations and behind a URL. */
  public static final String GRPC_PORT = "grpc-port";

  /** An engine that is asked over HTTP only. */
  public static EngineAddress of(URI url) {
    return new EngineAddress(url, null);
  }

  /** Such as {@code http://10.0.0.5:8000,grpc-port=50051}. */
  @Override
  public String toString() {
    return grpcPort == null ? url.toString() : url + "," + GRPC_PORT + "=" + grpcPort;
  }
}
