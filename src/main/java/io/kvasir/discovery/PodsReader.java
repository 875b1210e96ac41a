package io.kvasir.discovery;

import com.typesafe.config.Config;
import io.kvasir.cell.DiscoveredPod;
import java.util.List;
import java.util.function.Consumer;

/** Reads pods as the configuration does. */
@FunctionalInterface
public interface PodsReader {
  /**
   * The pods of a list.
   *
   * @param listed has the list under {@code pods}; an entry may say {@code draining = true}
   * @param faults told each fault in plain words; what is returned is then of no use
   */
  List<DiscoveredPod> read(Config listed, Consumer<String> faults);
}
