package io.kvasir.discovery;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigValueFactory;
import io.kvasir.cell.DiscoveredPod;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A reader of pods in the configuration's format. */
@FunctionalInterface
public interface PodsReader {
  /**
   * The pods of a list.
   *
   * @param listed has the list under {@code pods}; an entry may have {@code draining = true}
   * @param faults receives each fault in a sentence; with a fault the result is unusable
   */
  List<DiscoveredPod> read(Config listed, Consumer<String> faults);

  /** A single pod; null when it has a fault. */
  default @Nullable DiscoveredPod readOne(Config described, Consumer<String> faults) {
    Config list =
        ConfigFactory.empty().withValue("pods", ConfigValueFactory.fromIterable(List.of(described.root())));
    List<String> found = new ArrayList<>();
    List<DiscoveredPod> read = read(list, found::add);
    found.forEach(faults);
    return found.isEmpty() && read.size() == 1 ? read.getFirst() : null;
  }
}
