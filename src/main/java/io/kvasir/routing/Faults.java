package io.kvasir.routing;

import com.typesafe.config.ConfigOrigin;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Collects the faults of a compilation, so that all are reported at once. */
final class Faults {
  private final List<Placed> faults = new ArrayList<>();

  void add(String profile, @Nullable String plugin, ConfigOrigin origin, String problem, String remedy) {
    faults.add(new Placed(origin, new Fault(profile, plugin, where(origin), problem, remedy)));
  }

  boolean any() {
    return !faults.isEmpty();
  }

  /** All of them, in the order an editor would meet them; those of one line as they were found. */
  List<Fault> sorted() {
    return faults.stream()
        .sorted(Comparator.comparing(Placed::source).thenComparingInt(placed -> placed.origin.lineNumber()))
        .map(Placed::fault)
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

  private record Placed(ConfigOrigin origin, Fault fault) {
    String source() {
      return Faults.source(origin);
    }
  }
}
