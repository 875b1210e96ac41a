package io.kvasir.load;

import java.util.List;

/** Engines that {@link Truth} starts for itself, and ends when it is closed. */
interface TruthFleet extends AutoCloseable {
  /** Where they are. */
  List<EngineAddress> addresses();

  @Override
  void close();
}
