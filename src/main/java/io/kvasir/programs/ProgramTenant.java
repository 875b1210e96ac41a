package io.kvasir.programs;

import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * What the programs of one tenant have of the workers' memory, and those of them that wait. Guarded by whatever guards
 * the programs.
 */
final class ProgramTenant {
  private final String name;
  private final NavigableSet<ProgramWait> waits = new TreeSet<>();
  private int weight;
  private int live;
  private long liveTokens;

  ProgramTenant(String name, int weight) {
    this.name = name;
    this.weight = weight;
  }

  String name() {
    return name;
  }

  /** Its share against others. */
  int weight() {
    return weight;
  }

  /** Its weight as of now: settings change. */
  void weigh(int now) {
    weight = now;
  }

  /** Counts programs that become live, with their own tokens, or that of live ones these have become more. */
  void add(int programs, long tokens) {
    live += programs;
    liveTokens += tokens;
  }

  /** Own tokens of its live programs, for each part of its weight. */
  double tokensPerWeight() {
    return (double) liveTokens / weight;
  }

  /** Those of its programs that wait, in their order. */
  NavigableSet<ProgramWait> waits() {
    return waits;
  }

  /** Whether nothing of it is live or waits. */
  boolean isEmpty() {
    return live == 0 && waits.isEmpty();
  }
}
