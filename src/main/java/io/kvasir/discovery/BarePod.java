package io.kvasir.discovery;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSpec;
import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.TransferDescription.Role;
import java.net.URI;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A pod whose description leaves to its engine what that tells.
 *
 * @param url its base URL
 * @param described what its description has: an entry of the configuration's pods, without defaults
 */
public record BarePod(URI url, Config described) {
  /** Where its engine is asked. */
  public EngineAddress address() {
    return new EngineAddress(
        url,
        described.hasPath(EngineAddress.GRPC_PORT) ? Integer.valueOf(described.getInt(EngineAddress.GRPC_PORT)) : null,
        described.hasPath(EngineAddress.ROLE) ? Role.of(described.getString(EngineAddress.ROLE)) : null);
  }

  /** The pod with what its engine told; null when that does not go together. */
  public @Nullable PodSpec completed(LearntPod engine, PodsReader reader, Consumer<String> faults) {
    Config named =
        described.hasPath("name")
            ? described
            : described.withValue("name", ConfigValueFactory.fromAnyRef(engine.name()));
    try {
      DiscoveredPod read = reader.readOne(engine.complete(named), faults);
      return read == null ? null : read.spec().with(engine.learnt(named));
    } catch (ConfigException | IllegalArgumentException unfit) {
      faults.accept("what its engine tells cannot be a pod's: " + unfit.getMessage());
      return null;
    }
  }
}
