package io.kvasir.llmd;

import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/**
 * The settings of the classes in which requests wait, as the flow control of a file sets them. One thread at a time.
 */
final class WaitingClasses {
  /** The classes that priorities stand for: above 0, 0, below 0. */
  static final List<String> ALL = List.of("interactive", "default", "bulk");

  /** What {@code conf/defaults/admission.conf} has, where a setting must not be greater than another. */
  private static final Map<String, Long> STARVATION_MILLIS =
      Map.of("interactive", 5_000L, "default", 20_000L, "bulk", 60_000L);

  private static final Map<String, Long> OF_TENANT = Map.of("interactive", 512L, "default", 512L, "bulk", 1024L);
  private static final long MOST_WAITING = 1_000_000;
  private static final List<String> BYTE_UNITS = List.of("B", "KiB", "MiB", "GiB", "TiB");

  private final SequencedMap<String, Object> settings;

  WaitingClasses(SequencedMap<String, Object> settings) {
    this.settings = settings;
  }

  /** The class of requests of a priority. */
  static String of(int priority) {
    return ALL.get(1 - Integer.signum(priority));
  }

  /** How long requests of all classes wait at most. */
  void longestWait(long millis) {
    for (String name : ALL) {
      settings.put(path(name, "longest-wait"), duration(millis));
      if (STARVATION_MILLIS.getOrDefault(name, 0L) > millis) {
        settings.put(path(name, "starvation"), duration(millis));
      }
    }
  }

  /** How many requests of a class wait at most. */
  void mostWaiting(String name, long requests) {
    long most = Math.min(requests, MOST_WAITING);
    settings.put(path(name, "max-waiting"), most);
    if (most < OF_TENANT.getOrDefault(name, 0L)) {
      settings.put(path(name, "max-waiting-per-tenant"), most);
    }
  }

  /** How much memory the requests of a class that wait take at most. */
  void mostBytes(String name, long bytes) {
    long left = bytes;
    int unit = 0;
    while (left % 1024 == 0 && unit < BYTE_UNITS.size() - 1) {
      left /= 1024;
      unit++;
    }
    settings.put(path(name, "max-bytes"), left + " " + BYTE_UNITS.get(unit));
  }

  /** A duration as configurations have it. */
  static String duration(long millis) {
    return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
  }

  private static String path(String name, String setting) {
    return "admission.classes." + name + "." + setting;
  }
}
