package io.kvasir.lab;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The parameters of a generator as written, {@code KEY=NUMBER&…}; collects what is wrong with them. */
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

  /** A number of at least {@code least}. */
  double number(String key, double fallback, double least) {
    known.add(key);
    String written = given.get(key);
    if (written == null) {
      return fallback;
    }
    try {
      double read = Double.parseDouble(written);
      if (read >= least && read <= 1e9) {
        return read;
      }
    } catch (NumberFormatException malformed) {
      // Told below, as what is out of range.
    }
    faults.add(key + " is '" + written + "', give a number of at least " + ResultTable.plain(least));
    return fallback;
  }

  /** A whole number of at least {@code least}. */
  int integer(String key, int fallback, int least) {
    return (int) number(key, fallback, least);
  }

  /** Tells what is wrong, when all parameters have been read. */
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
