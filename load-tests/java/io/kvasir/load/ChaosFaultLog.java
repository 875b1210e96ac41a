package io.kvasir.load;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** When which engine was in trouble: what excuses a stream that was cut short. Thread-safe. */
final class ChaosFaultLog {
  /** Connections and streams end a moment after what ends them. */
  private static final long GRACE_NANOS = 1_000_000_000L;

  private final List<FaultWindow> windows = new ArrayList<>();

  /** One engine's trouble; over when {@link #end} is called. */
  final class FaultWindow {
    private final String engine;
    private final String what;
    private final long from = System.nanoTime();
    private long to = Long.MAX_VALUE;

    private FaultWindow(String engine, String what) {
      this.engine = engine;
      this.what = what;
    }

    void end() {
      synchronized (windows) {
        to = System.nanoTime() + GRACE_NANOS;
      }
    }
  }

  FaultWindow begin(String engine, String what) {
    FaultWindow spell = new FaultWindow(engine, what);
    synchronized (windows) {
      windows.add(spell);
    }
    return spell;
  }

  /** Whether {@code engine} was in trouble at some time between two readings of {@link System#nanoTime}. */
  boolean overlaps(String engine, long from, long to) {
    synchronized (windows) {
      return windows.stream()
          .anyMatch(spell -> spell.engine.equals(engine) && spell.from <= to && spell.to >= from);
    }
  }

  /** What happened and how often, such as {@code crash 12, wedge 7}. */
  String summary() {
    Map<String, Integer> counts = new TreeMap<>();
    synchronized (windows) {
      windows.forEach(spell -> counts.merge(spell.what, 1, Integer::sum));
    }
    StringBuilder text = new StringBuilder();
    counts.forEach((what, count) -> text.append(text.isEmpty() ? "" : ", ").append(what).append(' ').append(count));
    return text.toString();
  }
}
