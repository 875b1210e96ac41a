package io.kvasir.admission;

import java.util.EnumMap;
import java.util.Map;

/**
 * Holds requests that would wait at their worker: the queue belongs to the router, where the order can still be
 * changed, and not to the engines. The bound is that of the request's class on the work queued there before it, however
 * long its own prompt is: with less for long prompts the short ones would always be ahead of them. A tenant that has
 * used up its share while others have not may have half of that queued, as one of a class less urgent: it is what they
 * find before them, and the other half is theirs. What engines of unknown speed have queued is not known, so requests
 * for them always go. Thread-safe.
 */
public final class EngineQueueGate implements Gate {
  private static final Verdict HOLD = new Verdict.Hold("busy");

  /** The part of its bound that a tenant has which leaves the rest to others. */
  private static final double RIVALS_LEAVE = 0.5;

  private final Map<ServiceClass, Double> boundMs = new EnumMap<>(ServiceClass.class);

  /** A gate with the bounds of the settings. */
  public EngineQueueGate(AdmissionSettings settings) {
    for (ServiceClass each : ServiceClass.values()) {
      boundMs.put(each, (double) settings.of(each).engineQueue().toMillis());
    }
  }

  @Override
  public Verdict check(Claim claim, Standing standing, Prospect prospect) {
    double bound = boundMs.getOrDefault(claim.serviceClass(), 0.0) * (standing.rivals() > 0 ? RIVALS_LEAVE : 1);
    return !prospect.known() || prospect.queueMs() <= bound ? Verdict.GO : HOLD;
  }
}
