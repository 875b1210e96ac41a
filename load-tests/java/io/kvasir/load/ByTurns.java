package io.kvasir.load;

import io.kvasir.load.DataPathProbe.Burst;
import io.kvasir.load.DataPathProbe.CpuClock;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Two builds of Kvasir, which run side by side before the same engines and are measured by turns, in bursts of two
 * seconds: a shared machine is now fast and now slow, for longer than a burst, so that the ratio within a turn says
 * more than two runs one after the other. What a JVM's compiler makes of the same code differs from start to start by
 * several percent, so that both are started anew after some turns.
 */
final class ByTurns {
  private final DataPathProbe probe;
  private final Map<Burst, List<Turn>> measured = new EnumMap<>(Burst.class);

  /** Nothing is measured yet. */
  ByTurns(DataPathProbe probe) {
    this.probe = probe;
  }

  /** A build that runs. */
  record Build(String name, ChildProcess process, int port) {}

  /** CPU microseconds of both, a turn each. */
  private record Turn(double ours, double theirs) {
    double ratio() {
      return ours / theirs;
    }

    Turn swapped() {
      return new Turn(theirs, ours);
    }
  }

  /**
   * What was found.
   *
   * @param burst of which kind the bursts were
   * @param ours median CPU microseconds of a request (of an event, for streams)
   * @param lowRatio a quarter of the turns had less
   * @param highRatio a quarter of the turns had more
   */
  record Comparison(
      Burst burst, double ours, double theirs, double ratio, double lowRatio, double highRatio, int turns) {
    static final String COLUMNS =
        String.format(
            Locale.ROOT, "%-12s %10s %10s %10s   %s", "CPU us", "this", "other", "ratio", "half of the turns between");

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT, "%-12s %10.1f %10.1f %10.3f   %.3f and %.3f", burst, ours, theirs, ratio, lowRatio, highRatio);
    }
  }

  /**
   * Warms both up, then measures so many turns of each kind of burst. The one that is warmed up first comes off worse
   * (the same build beside itself by an eighth of a request's CPU), so that each should be as often as the other.
   */
  void measure(Build ours, Build theirs, int turns, boolean oursFirst) throws IOException {
    for (Build build : oursFirst ? List.of(ours, theirs) : List.of(theirs, ours)) {
      probe.warmUp(build.name, build.port);
    }
    for (int i = 0; i < turns; i++) {
      DataPathProbe.progress("both", "turn " + (i + 1) + " of " + turns);
      for (Burst burst : Burst.values()) {
        measured.computeIfAbsent(burst, _ -> new ArrayList<>())
            .add((i % 2 == 0) == oursFirst ? turn(burst, ours, theirs) : turn(burst, theirs, ours).swapped());
      }
    }
  }

  private Turn turn(Burst burst, Build first, Build second) throws IOException {
    return new Turn(
        probe.burst(burst, first.port, CpuClock.of(first.process)),
        probe.burst(burst, second.port, CpuClock.of(second.process)));
  }

  /** Of all turns so far. */
  List<Comparison> comparisons() {
    return measured.entrySet().stream().map(each -> compare(each.getKey(), each.getValue())).toList();
  }

  private static Comparison compare(Burst burst, List<Turn> turns) {
    double[] ratios = turns.stream().mapToDouble(Turn::ratio).toArray();
    return new Comparison(
        burst,
        TailRatio.quantile(turns.stream().mapToDouble(Turn::ours).toArray(), 0.5),
        TailRatio.quantile(turns.stream().mapToDouble(Turn::theirs).toArray(), 0.5),
        TailRatio.quantile(ratios, 0.5),
        TailRatio.quantile(ratios, 0.25),
        TailRatio.quantile(ratios, 0.75),
        turns.size());
  }
}
