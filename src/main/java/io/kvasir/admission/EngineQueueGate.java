package io.kvasir.admission;

import java.util.EnumMap;
import java.util.Map;

/**
 * Holds requests that would wait at their worker: the queue belongs to the router, where the order can still be
 * changed, and not to the engines. The bound is that of the request's class on the work queued there before it, however
 * long its own prompt is: with less for long prompts the short ones would always be ahead of them. What engines of
 * unknown speed have queued is not known, so requests for them always go. Thread-safe.
 */
public final class EngineQueueGate implements Gate {
  private static final Verdict HOLD = new Verdict.Hold(HoldReason.BUSY);

  private final Map<ServiceClass, Double> boundMs = new EnumMap<>(ServiceClass.class);

  /** A gate with the bounds of the settings. */
  public EngineQueueGate(AdmissionSettings settings) {
    for (ServiceClass each : ServiceClass.values()) {
      boundMs.put(each, (double) settings.of(each).engineQueue().toMillis());
    }
  }

  @Override
  public Verdict check(Claim claim, Standing standing, Prospect prospect) {
    return !prospect.known() || prospect.queueMs() <= boundMs.getOrDefault(claim.serviceClass(), 0.0)
        ? Verdict.GO
        : HOLD;
  }
}
