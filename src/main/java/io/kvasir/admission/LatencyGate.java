package io.kvasir.admission;

import java.util.EnumMap;
import java.util.Map;

/**
 * Holds requests whose worker would let them wait: the queue belongs to the router, where the order can still be
 * changed, and not to the engines. The bound is that of the request's class on the expected time to first token; a
 * prompt that takes longer than that by itself goes when little is queued before it. What engines of unknown speed have
 * queued is not known, so requests for them always go. Thread-safe.
 */
public final class LatencyGate implements Gate {
  /** Of the bound, what may be queued before a prompt that exceeds the bound by itself. */
  private static final double QUEUE_SHARE = 0.25;

  private static final Verdict HOLD = new Verdict.Hold("busy");

  private final Map<ServiceClass, Double> boundMs = new EnumMap<>(ServiceClass.class);

  /** A gate with the bounds of the settings. */
  public LatencyGate(AdmissionSettings settings) {
    for (ServiceClass each : ServiceClass.values()) {
      boundMs.put(each, (double) settings.of(each).firstToken().toMillis());
    }
  }

  @Override
  public Verdict check(Claim claim, Prospect prospect, long nowNanos) {
    double bound = boundMs.getOrDefault(claim.serviceClass(), 0.0);
    return !prospect.known() || prospect.queueMs() <= Math.max(bound - prospect.prefillMs(), QUEUE_SHARE * bound)
        ? Verdict.GO
        : HOLD;
  }
}
