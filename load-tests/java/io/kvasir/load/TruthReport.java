package io.kvasir.load;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.load.CachePrediction.Verdict;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The table of {@link Truth} and whether its goal was met.
 *
 * @param goal percent that have to be exact on each engine, of all traffic without a fault
 * @param recoverySeconds how long after a fault answers may be otherwise
 */
record TruthReport(double goal, double recoverySeconds) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * What one kind of traffic came to.
   *
   * @param lines its workers' counts
   * @param failed requests without an answer
   * @param recoveredAfterSeconds after its fault; null where there was none, or it never came to that
   */
  record Result(
      String traffic, List<TruthTally.Line> lines, int failed, @Nullable Double recoveredAfterSeconds) {}

  /** Percent of exact answers of each engine, of all traffic without a fault. */
  static Map<String, Double> exactPercents(List<TruthTally> tallies) {
    Map<String, Integer> exact = new TreeMap<>();
    Map<String, Integer> all = new TreeMap<>();
    for (TruthTally tally : tallies) {
      if (!tally.kind().hasFault()) {
        for (TruthTally.Line line : tally.lines()) {
          exact.merge(line.worker(), line.count(Verdict.EXACT), Integer::sum);
          all.merge(line.worker(), line.requests(), Integer::sum);
        }
      }
    }
    Map<String, Double> percents = new TreeMap<>();
    all.forEach((worker, count) -> percents.put(worker, 100.0 * exact.getOrDefault(worker, 0) / count));
    return percents;
  }

  /** What keeps the goal from being met, a line each; empty where it is met. */
  List<String> misses(List<TruthTally> tallies) {
    List<String> misses = new ArrayList<>();
    exactPercents(tallies).forEach((worker, percent) -> {
      if (percent < goal) {
        misses.add("%s: %.3f %% exact".formatted(worker, percent));
      }
    });
    for (TruthTally tally : tallies) {
      if (tally.answered() == 0) {
        misses.add(tally.kind() + ": no answers");
      }
      if (tally.kind().hasFault()) {
        Optional<Double> recovered = recovered(tally);
        if (recovered.isEmpty()) {
          misses.add(tally.kind() + ": never exact again");
        } else if (recovered.get() > recoverySeconds) {
          misses.add("%s: exact again after %.2f s".formatted(tally.kind(), recovered.get()));
        }
      } else if (tally.failed() > 0) {
        misses.add("%s: %d requests without an answer".formatted(tally.kind(), tally.failed()));
      }
    }
    return misses;
  }

  private static Optional<Double> recovered(TruthTally tally) {
    return tally.wasDisturbed() ? tally.secondsToRecover() : Optional.empty();
  }

  /** Prints all; returns the command's exit status, 0 where the goal was met. */
  int print(List<TruthTally> tallies, @Nullable Path json) {
    List<Result> results = new ArrayList<>();
    System.out.printf(
        "%-14s %-16s %8s %7s %5s %9s %6s %11s %10s %8s %8s%n", "traffic", "engine", "requests", "exact", "over",
        "overtaken", "under", "unconfirmed", "unreported", "exact %", "cached %");
    for (TruthTally tally : tallies) {
      tally.lines().forEach(TruthReport::print);
      if (tally.kind().hasFault()) {
        System.out.printf(
            "%-14s %s%n", tally.kind(),
            recovered(tally).map("exact again %.2f s after the fault"::formatted).orElse("never exact again"));
      }
      if (tally.failed() > 0) {
        System.out.printf(
            "%-14s %d without an answer, first: %s%n", tally.kind(), tally.failed(), tally.firstFailure());
      }
      results.add(
          new Result(tally.kind().toString(), tally.lines(), tally.failed(), recovered(tally).orElse(null)));
    }
    for (TruthTally tally : tallies) {
      System.out.printf(
          "%-14s half of the answers within %.0f ms, nine of ten %.0f, 99 of 100 %.0f%n", tally.kind(),
          tally.millis(50), tally.millis(90), tally.millis(99));
    }
    exactPercents(tallies).forEach(
        (worker, percent) -> System.out.printf("all but faults %-16s %.3f %% exact%n", worker, percent));
    for (Result result : results) {
      for (TruthTally.Line line : result.lines()) {
        line.examples().forEach(
            (verdict, texts) ->
                texts.forEach(text -> System.out.printf("%n%s, %s: %s%n", line.kind(), verdict, text)));
      }
    }
    List<String> misses = results.isEmpty() ? List.of("no traffic was possible") : misses(tallies);
    System.out.printf(
        "%ngoal (%s %% exact on each engine, exact again within %.0f s after a fault): %s%n", goal, recoverySeconds,
        misses.isEmpty() ? "met" : "missed: " + String.join("; ", misses));
    ResultFile.write(json, JSON, results);
    return misses.isEmpty() ? 0 : 1;
  }

  private static void print(TruthTally.Line line) {
    System.out.printf(
        "%-14s %-16s %8d %7d %5d %9d %6d %11d %10d %8.2f %8.1f%n", line.kind(), line.worker(), line.requests(),
        line.count(Verdict.EXACT), line.count(Verdict.OVER), line.count(Verdict.OVERTAKEN),
        line.count(Verdict.UNDER), line.count(Verdict.UNCONFIRMED), line.count(Verdict.UNREPORTED),
        line.exactPercent(), line.cachedPercent());
  }
}
