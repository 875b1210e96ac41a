package io.kvasir.gateway.admin.vitals;

import io.kvasir.telemetry.BucketCounts;
import io.kvasir.telemetry.MetricWindow.Figures;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/**
 * The vital figures of a node, or of several together. Immutable.
 *
 * @param values each {@link VitalFigure} at its place; those that an earlier version's node does not have are 0
 * @param ttft how many streams a second had their first token after how many seconds
 */
public record VitalFigures(List<Double> values, BucketCounts ttft) {
  /** Copies them. */
  @SuppressWarnings("NullAway") // a node of another version may have left them out
  public VitalFigures {
    values = values == null ? List.of() : List.copyOf(values);
    ttft = ttft == null ? BucketCounts.EMPTY : ttft;
  }

  static VitalFigures of(Figures figures) {
    return new VitalFigures(
        Arrays.stream(VitalFigure.values()).map(each -> each.read(figures)).toList(), VitalFigure.ttft(figures));
  }

  static VitalFigures sum(Collection<VitalFigures> all) {
    return new VitalFigures(
        Arrays.stream(VitalFigure.values())
            .map(figure -> all.stream().mapToDouble(each -> each.of(figure)).sum())
            .toList(),
        all.stream().map(VitalFigures::ttft).reduce(BucketCounts.EMPTY, BucketCounts::plus));
  }

  double of(VitalFigure figure) {
    return figure.place() < values.size() ? values.get(figure.place()) : 0;
  }

  /** The share that a figure is of another, at most 1; empty when there is nothing of that. */
  OptionalDouble share(VitalFigure part, VitalFigure whole) {
    return share(of(part), of(whole));
  }

  /** Share of the prefill done that another choice of workers would have avoided; empty when none was done. */
  OptionalDouble regret() {
    return share(
        of(VitalFigure.REGRET_TOKENS), of(VitalFigure.REPORTED_TOKENS) - of(VitalFigure.PROMISED_TOKENS));
  }

  /** The same in a few bytes each: what is kept of many samples is an array. */
  float[] packed() {
    float[] packed = new float[values.size() + 2 * ttft.counts().size()];
    int at = 0;
    for (List<Double> part : List.of(values, ttft.upperBounds(), ttft.counts())) {
      for (double value : part) {
        packed[at++] = (float) value;
      }
    }
    return packed;
  }

  /** What was {@linkplain #packed packed}. */
  static VitalFigures unpacked(float[] packed) {
    int figures = VitalFigure.values().length;
    int buckets = (packed.length - figures) / 2;
    return new VitalFigures(
        part(packed, 0, figures),
        new BucketCounts(part(packed, figures, buckets), part(packed, figures + buckets, buckets)));
  }

  private static List<Double> part(float[] packed, int from, int size) {
    return IntStream.range(from, from + size).mapToObj(i -> (double) packed[i]).toList();
  }

  private static OptionalDouble share(double part, double whole) {
    return whole > 0 ? OptionalDouble.of(Math.min(1, part / whole)) : OptionalDouble.empty();
  }
}
