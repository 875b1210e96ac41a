package io.kvasir.routing;

import com.typesafe.config.ConfigOrigin;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Collects the faults of a compilation, so that all are reported at once. */
final class CompilationFaults {
  private final List<LocatedFault> faults = new ArrayList<>();

  void add(String profile, @Nullable String plugin, ConfigOrigin origin, String problem, String remedy) {
    faults.add(new LocatedFault(origin, new CompilationFault(profile, plugin, where(origin), problem, remedy)));
  }

  boolean any() {
    return !faults.isEmpty();
  }

  /** All of them, in the order an editor would meet them; those of one line as they were found. */
  List<CompilationFault> sorted() {
    return faults.stream()
        .sorted(Comparator.comparing(LocatedFault::source).thenComparingInt(placed -> placed.origin.lineNumber()))
        .map(LocatedFault::fault)
        .toList();
  }

  /** File and line. */
  static String where(ConfigOrigin origin) {
    String source = source(origin);
    return origin.lineNumber() > 0 ? source + ": " + origin.lineNumber() : source;
  }

  private static String source(ConfigOrigin origin) {
    if (origin.filename() != null) {
      return origin.filename();
    }
    if (origin.resource() != null) {
      return origin.resource();
    }
    return origin.description().replaceFirst(": \\d+(-\\d+)?$", "");
  }

  private record LocatedFault(ConfigOrigin origin, CompilationFault fault) {
    String source() {
      return CompilationFaults.source(origin);
    }
  }
}
