package io.kvasir.discovery;

import com.typesafe.config.Config;
import io.kvasir.cell.DiscoveredPod;
import java.util.List;
import java.util.function.Consumer;

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
}
