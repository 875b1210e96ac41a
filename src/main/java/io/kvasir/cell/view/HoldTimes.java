package io.kvasir.cell.view;

import io.kvasir.admission.HoldReason;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.Map;
import java.util.stream.Collectors;

/** How long a request has waited for what. Used by one thread. */
final class HoldTimes {
  private final Map<HoldReason, Long> nanos = new EnumMap<>(HoldReason.class);
  private HoldReason reason;
  private long sinceNanos;

  /** It begins to wait. */
  HoldTimes(HoldReason reason, long nowNanos) {
    this.reason = reason;
    this.sinceNanos = nowNanos;
  }

  /** What it has waited for since the last look is over, and from now on it waits for something. */
  void heldFor(HoldReason next, long nowNanos) {
    nanos.merge(reason, nowNanos - sinceNanos, Long::sum);
    reason = next;
    sinceNanos = nowNanos;
  }

  /** The whole milliseconds until now, the longest first, as a part of a decision's reason; empty for none. */
  String text(long nowNanos) {
    heldFor(reason, nowNanos);
    String all =
        nanos.keySet().stream()
            .filter(each -> millis(each) > 0)
            .sorted(Comparator.comparingLong(this::millis).reversed())
            .map(each -> each.label() + ":" + millis(each))
            .collect(Collectors.joining(","));
    return all.isEmpty() ? "" : "; held=" + all;
  }

  private long millis(HoldReason of) {
    return nanos.getOrDefault(of, 0L) / 1_000_000;
  }
}
