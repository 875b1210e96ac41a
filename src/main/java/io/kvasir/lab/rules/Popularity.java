package io.kvasir.lab.rules;

import java.util.HashMap;
import java.util.Map;

/**
 * The shares of keys among the last requests, which count the less the older they are: by a factor of e after a window
 * of requests. One thread.
 */
final class Popularity {
  private static final int MAX_KEYS = 1 << 16;
  private static final double MAX_WEIGHT = 1e9;

  private final double growth;
  private final double window;
  private final Map<Long, Double> counts = new HashMap<>();

  /** What the newest request counts: in place of all counts fading this one grows. */
  private double weight = 1;

  Popularity(int window) {
    this.window = window;
    this.growth = 1 + 1.0 / window;
  }

  /** Begins the next request. */
  void next() {
    weight *= growth;
    if (weight > MAX_WEIGHT || counts.size() > MAX_KEYS) {
      counts.replaceAll((_, count) -> count / weight);
      weight = 1;
      counts.values().removeIf(count -> count < 1 / Math.E);
    }
  }

  /** Counts the request for a key, and returns the share that it now has, 0 to 1. */
  double shareWith(long key) {
    return counts.merge(key, weight, Double::sum) / (weight * window);
  }
}
