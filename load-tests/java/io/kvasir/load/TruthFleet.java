package io.kvasir.load;

import java.util.List;
import java.util.stream.Stream;

/** Engines that {@link Truth} starts for itself, and ends when it is closed. */
interface TruthFleet extends AutoCloseable {
  /** Where they are. */
  List<EngineAddress> addresses();

  @Override
  void close();

  /** Both. */
  static TruthFleet of(TruthFleet first, TruthFleet second) {
    List<EngineAddress> both = Stream.concat(first.addresses().stream(), second.addresses().stream()).toList();
    return new TruthFleet() {
      @Override
      public List<EngineAddress> addresses() {
        return both;
      }

      @Override
      public void close() {
        first.close();
        second.close();
      }
    };
  }
}
