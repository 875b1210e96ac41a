package io.kvasir.telemetry;

import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * How many values fell into each bucket of a histogram, in a form that can be added up: a quantile of several nodes'
 * values together is one of the sum of their buckets, and no mean of their quantiles. Immutable.
 *
 * @param upperBounds where buckets end, ascending; each begins where the one before it ends, the first at 0
 * @param counts how many values fell into each, or how many a second
 */
public record BucketCounts(List<Double> upperBounds, List<Double> counts) {
  /** No values. */
  public static final BucketCounts EMPTY = new BucketCounts(List.of(), List.of());

  /** Checks that there is a count for each bucket. What another version's node leaves out is empty. */
  @SuppressWarnings("NullAway") // a node of another version may have left them out
  public BucketCounts {
    upperBounds = upperBounds == null ? List.of() : List.copyOf(upperBounds);
    counts = counts == null ? List.of() : List.copyOf(counts);
    if (upperBounds.size() != counts.size()) {
      throw new IllegalArgumentException(counts.size() + " counts of " + upperBounds.size() + " buckets");
    }
  }

  /**
   * These values and others. Where the others' buckets have other bounds, as between two versions, a value may be taken
   * for larger than it is, but never beyond its bucket.
   */
  public BucketCounts plus(BucketCounts other) {
    SortedMap<Double, Double> sums = new TreeMap<>();
    addTo(sums);
    other.addTo(sums);
    return of(sums);
  }

  /** The same without the empty buckets before and behind all values: a quantile is the same. */
  public BucketCounts trimmed() {
    int from = 0;
    int to = counts.size();
    while (to > 0 && counts.get(to - 1) == 0) {
      to--;
    }
    // The last empty one tells where the first that is not begins.
    while (from + 1 < to && counts.get(from) == 0 && counts.get(from + 1) == 0) {
      from++;
    }
    return new BucketCounts(upperBounds.subList(from, to), counts.subList(from, to));
  }

  /**
   * A quantile, interpolated within its bucket; of a bucket without an end, where it begins.
   *
   * @param rank 0 to 1
   * @return empty when there are no values
   */
  public OptionalDouble quantile(double rank) {
    double all = counts.stream().mapToDouble(Double::doubleValue).sum();
    if (all == 0) {
      return OptionalDouble.empty();
    }
    double wanted = rank * all;
    double below = 0;
    double quantile = 0;
    for (int i = 0; i < counts.size(); i++) {
      double lower = i == 0 ? 0 : upperBounds.get(i - 1);
      double count = counts.get(i);
      if (count > 0) {
        double upper = Double.isInfinite(upperBounds.get(i)) ? lower : upperBounds.get(i);
        quantile = lower + (upper - lower) * Math.clamp((wanted - below) / count, 0, 1);
        if (below + count >= wanted) {
          break;
        }
        below += count;
      }
    }
    return OptionalDouble.of(quantile);
  }

  private void addTo(SortedMap<Double, Double> sums) {
    for (int i = 0; i < counts.size(); i++) {
      sums.merge(upperBounds.get(i), counts.get(i), Double::sum);
    }
  }

  private static BucketCounts of(Map<Double, Double> counts) {
    return new BucketCounts(List.copyOf(counts.keySet()), List.copyOf(counts.values()));
  }
}
