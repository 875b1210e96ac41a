package io.kvasir.lab;

import java.util.Arrays;
import java.util.List;

/**
 * How evenly groups of requests were served. Every group counts alike, however many requests it sent. All but the
 * number are NaN without groups.
 *
 * @param groups how many there are
 * @param jain Jain's fairness index of their goodputs, (Σx)² / (n·Σx²): 1 when all are served alike, 1/n when one
 *     alone is served at all (Jain, Chiu, Hawe: "A Quantitative Measure of Fairness", DEC TR-301, 1984)
 * @param mean mean of their goodputs
 * @param p10 their 10th percentile
 * @param worst the least
 */
public record GoodputSpread(int groups, double jain, double mean, double p10, double worst) {
  /** The spread of some groups. */
  static GoodputSpread of(List<GroupGoodput> groups) {
    double[] goodputs = groups.stream().mapToDouble(GroupGoodput::goodput).sorted().toArray();
    if (goodputs.length == 0) {
      return new GoodputSpread(0, Double.NaN, Double.NaN, Double.NaN, Double.NaN);
    }
    double sum = Arrays.stream(goodputs).sum();
    double squares = Arrays.stream(goodputs).map(goodput -> goodput * goodput).sum();
    return new GoodputSpread(
        goodputs.length,
        // Nobody was served: all alike.
        squares == 0 ? 1 : sum * sum / (goodputs.length * squares),
        sum / goodputs.length,
        Latency.percentile(goodputs, 0.1),
        goodputs[0]);
  }
}
