package io.kvasir.load;

import io.kvasir.load.CachePrediction.Verdict;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** What was predicted of one kind of traffic, and what was so. Thread-safe. */
final class TruthTally {
  /** So many exact answers in a row are no accident. */
  private static final int STEADY = 50;

  private final TrafficKind kind;
  private final int examples;
  private final Map<String, Row> rows = new TreeMap<>();
  private final List<Sample> samples = new ArrayList<>();
  private final Histogram answerNanos = new Histogram(3);
  private int failed;
  private @Nullable String firstFailure;
  private long faultBegan = Long.MAX_VALUE;
  private long faultEnded = Long.MAX_VALUE;

  /**
   * An empty one.
   *
   * @param examples how many of a worker's requests with a verdict are to be explained
   */
  TruthTally(TrafficKind kind, int examples) {
    this.kind = kind;
    this.examples = examples;
  }

  /** An answer: when its request was sent, by {@link System#nanoTime}, and whether it was as predicted. */
  private record Sample(long nanos, boolean exact) {}

  /** What came of one worker. */
  private static final class Row {
    private final Map<Verdict, Integer> counts = new EnumMap<>(Verdict.class);
    private final Map<Verdict, List<String>> examples = new EnumMap<>(Verdict.class);
    private long promptTokens;
    private long cachedTokens;
  }

  /**
   * The counts of a worker, or of all.
   *
   * @param kind of traffic
   * @param worker its id
   * @param requests answered
   * @param counts of each verdict
   * @param exactPercent share of exact ones among all, in percent
   * @param cachedPercent share of the prompts' tokens that engines reported as cached, in percent
   * @param examples the first requests of each verdict but exact, explained
   */
  record Line(
      String kind,
      String worker,
      int requests,
      Map<Verdict, Integer> counts,
      double exactPercent,
      double cachedPercent,
      Map<Verdict, List<String>> examples) {
    int count(Verdict verdict) {
      return counts.getOrDefault(verdict, 0);
    }
  }

  TrafficKind kind() {
    return kind;
  }

  /**
   * Counts an answer; returns whether it is among the worker's first with this verdict and wants an explanation.
   *
   * @param sent when its request was, by {@link System#nanoTime}
   * @param promptTokens of the prompt
   * @param cachedTokens of those that the engine reported; -1 where it did not
   */
  synchronized boolean add(String worker, Verdict verdict, long sent, int promptTokens, int cachedTokens) {
    samples.add(new Sample(sent, verdict == Verdict.EXACT));
    Row row = rows.computeIfAbsent(worker, id -> new Row());
    row.promptTokens += promptTokens;
    row.cachedTokens += Math.max(0, cachedTokens);
    return row.counts.merge(verdict, 1, Integer::sum) <= examples && verdict != Verdict.EXACT;
  }

  /** Keeps the explanation of one of a worker's first answers with a verdict. */
  synchronized void explain(String worker, Verdict verdict, String explanation) {
    rows.computeIfAbsent(worker, id -> new Row())
        .examples.computeIfAbsent(verdict, first -> new ArrayList<>())
        .add(explanation);
  }

  /** Notes how long an answer took, from its request to its end. */
  synchronized void took(long nanos) {
    answerNanos.recordValue(nanos);
  }

  /** The milliseconds within which so many percent of the answers came; 0 where there are none. */
  synchronized double millis(double percent) {
    return answerNanos.getValueAtPercentile(percent) / 1e6;
  }

  /** Counts a request without an answer. */
  synchronized void fail(String why) {
    failed++;
    if (firstFailure == null) {
      firstFailure = why;
    }
  }

  /** Says when engines were disturbed. */
  synchronized void disturbed(long began, long ended) {
    faultBegan = began;
    faultEnded = ended;
  }

  synchronized int answered() {
    return samples.size();
  }

  synchronized int failed() {
    return failed;
  }

  synchronized @Nullable String firstFailure() {
    return firstFailure;
  }

  /** The workers' counts, ordered by their ids. */
  synchronized List<Line> lines() {
    List<Line> lines = new ArrayList<>();
    rows.forEach((worker, row) -> {
      int all = row.counts.values().stream().mapToInt(Integer::intValue).sum();
      double exact = 100.0 * row.counts.getOrDefault(Verdict.EXACT, 0) / Math.max(1, all);
      double cached = 100.0 * row.cachedTokens / Math.max(1, row.promptTokens);
      lines.add(
          new Line(
              kind.toString(), worker, all, Map.copyOf(row.counts), exact, cached, Map.copyOf(row.examples)));
    });
    return lines;
  }

  /** Whether engines were disturbed. */
  synchronized boolean wasDisturbed() {
    return faultBegan != Long.MAX_VALUE;
  }

  /**
   * Seconds from the end of the fault to the last wrong answer before {@value #STEADY} exact ones in a row; 0 where
   * there was none, nothing where it never came to that.
   */
  synchronized Optional<Double> secondsToRecover() {
    List<Sample> after =
        samples.stream()
            .filter(sample -> sample.nanos - faultEnded >= 0)
            .sorted(Comparator.comparingLong(sample -> sample.nanos - faultEnded))
            .toList();
    int exact = 0;
    double lastWrong = 0;
    for (Sample sample : after) {
      if (!sample.exact) {
        exact = 0;
        lastWrong = (sample.nanos - faultEnded) / 1e9;
      } else if (++exact == STEADY) {
        return Optional.of(lastWrong);
      }
    }
    return Optional.empty();
  }
}
