package io.kvasir.lab;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The parameters of a generator as written, {@code KEY=NUMBER&…}; collects their faults. */
final class GeneratorParameters {
  private final String name;
  private final Map<String, String> given = new LinkedHashMap<>();
  private final Set<String> known = new LinkedHashSet<>();
  private final List<String> faults = new ArrayList<>();

  GeneratorParameters(String name, String written) {
    this.name = name;
    for (String pair : written.isEmpty() ? new String[0] : written.split("&", -1)) {
      int equals = pair.indexOf('=');
      if (equals < 1) {
        faults.add("'" + pair + "' is no KEY=NUMBER");
      } else {
        given.put(pair.substring(0, equals), pair.substring(equals + 1));
      }
    }
  }

  /** The generator as written. */
  String name() {
    return name;
  }

  /** A number of at least {@code min}. */
  double number(String key, double fallback, double min) {
    known.add(key);
    String written = given.get(key);
    if (written == null) {
      return fallback;
    }
    try {
      double read = Double.parseDouble(written);
      if (read >= min && read <= 1e9) {
        return read;
      }
    } catch (NumberFormatException malformed) {
      // Reported below, as an out-of-range number is.
    }
    faults.add(key + " is '" + written + "', give a number of at least " + ResultTable.plain(min));
    return fallback;
  }

  /** A whole number of at least {@code min}. */
  int integer(String key, int fallback, int min) {
    double read = number(key, fallback, min);
    if (read != Math.rint(read)) {
      faults.add(key + " is '" + given.get(key) + "', give a whole number");
      return fallback;
    }
    return (int) read;
  }

  /** The faults so far, and one more. */
  void fault(String fault) {
    faults.add(fault);
  }

  /** Throws if there were faults; called when all parameters have been read. */
  void check() {
    for (String key : given.keySet()) {
      if (!known.contains(key)) {
        faults.add("there is no " + key + "; there are " + String.join(", ", known));
      }
    }
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(name + ": " + String.join("; ", faults));
    }
  }
}
