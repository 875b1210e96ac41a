package io.kvasir.routing;

import com.typesafe.config.ConfigOrigin;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The faults of one compilation, collected so that all are reported at once. */
final class CompilationFaults {
  private final List<CompilationFault> faults = new ArrayList<>();

  void add(String profile, @Nullable String plugin, ConfigOrigin origin, String problem, String remedy) {
    faults.add(new CompilationFault(profile, plugin, ConfigPlace.of(origin), problem, remedy));
  }

  boolean any() {
    return !faults.isEmpty();
  }

  /** The faults by file and line; those of one line in the order they were found. */
  List<CompilationFault> sorted() {
    return faults.stream()
        .sorted(
            Comparator.comparing((CompilationFault fault) -> fault.place().file())
                .thenComparingInt(fault -> fault.place().line()))
        .toList();
  }
}
