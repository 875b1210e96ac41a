package io.kvasir.load;

import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongBinaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How long decisions took that a cell's home on another node made, the way there and back included, as router nodes
 * count them.
 *
 * @param cumulative how many took no longer than so many seconds
 */
record RemoteDecisions(SortedMap<Double, Long> cumulative) {
  static final RemoteDecisions NONE = new RemoteDecisions(new TreeMap<>());

  private static final Pattern BUCKET =
      Pattern.compile("kvasir_remote_decision_seconds_bucket\\{[^}]*le=\"([^\"]+)\"[^}]*} (\\S+)");

  /** A node's histogram of remote decisions, over the peer connection and the cluster. */
  static RemoteDecisions of(String metrics) {
    SortedMap<Double, Long> cumulative = new TreeMap<>();
    Matcher bucket = BUCKET.matcher(metrics);
    while (bucket.find()) {
      double bound = bucket.group(1).equals("+Inf") ? Double.MAX_VALUE : Double.parseDouble(bucket.group(1));
      cumulative.merge(bound, (long) Double.parseDouble(bucket.group(2)), Long::sum);
    }
    return new RemoteDecisions(cumulative);
  }

  RemoteDecisions plus(RemoteDecisions others) {
    return with(others, Long::sum);
  }

  /** Those since then. */
  RemoteDecisions since(RemoteDecisions then) {
    return with(then, (now, before) -> now - before);
  }

  private RemoteDecisions with(RemoteDecisions others, LongBinaryOperator operator) {
    SortedMap<Double, Long> result = new TreeMap<>(cumulative);
    others.cumulative.forEach(
        (bound, count) ->
            result.put(bound, operator.applyAsLong(cumulative.getOrDefault(bound, 0L), count)));
    return new RemoteDecisions(result);
  }

  /** Below which a share of them stayed, in milliseconds, as exactly as the buckets allow; 0 where there are none. */
  double millis(double share) {
    double wanted = cumulative.isEmpty() ? 0 : cumulative.lastEntry().getValue() * share;
    double lower = 0;
    long below = 0;
    for (var bucket : cumulative.entrySet()) {
      if (bucket.getValue() >= wanted && bucket.getValue() > below) {
        return 1e3 * (lower + (bucket.getKey() - lower) * (wanted - below) / (bucket.getValue() - below));
      }
      lower = bucket.getKey();
      below = bucket.getValue();
    }
    return 0;
  }
}
