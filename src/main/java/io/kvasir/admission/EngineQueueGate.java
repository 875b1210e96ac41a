package io.kvasir.admission;

import java.util.EnumMap;
import java.util.Map;

/**
 * Holds requests that would wait at their worker: the queue belongs to the router, where the order can still be
 * changed, and not to the engines. The bound is that of the request's class on the work queued there before it, however
 * long its own prompt is: with less for long prompts the short ones would always be ahead of them. A tenant that has
 * used up its share keeps a share of the bound free for those that have not: what it has sent there they find before
 * them. What engines of unknown speed have queued is not known, so requests for them always go. Thread-safe.
 */
public final class EngineQueueGate implements Gate {
  private static final Verdict BUSY = new Verdict.Hold(HoldReason.BUSY);
  private static final Verdict KEPT = new Verdict.Hold(HoldReason.KEPT);

  private final Map<ServiceClass, Double> boundMs = new EnumMap<>(ServiceClass.class);
  private final double keptShare;

  /** A gate with the bounds of the settings. */
  public EngineQueueGate(AdmissionSettings settings) {
    this.keptShare = settings.keptQueue();
    for (ServiceClass each : ServiceClass.values()) {
      boundMs.put(each, (double) settings.of(each).engineQueue().toMillis());
    }
  }

  @Override
  public Verdict check(Claim claim, Standing standing, Prospect prospect) {
    if (!prospect.known() || prospect.queueMs() <= mostQueueMs(claim, standing)) {
      return Verdict.GO;
    }
    return prospect.queueMs() <= boundMs(claim) ? KEPT : BUSY;
  }

  @Override
  public double mostQueueMs(Claim claim, Standing standing) {
    return standing.rivals() == 0 ? boundMs(claim) : boundMs(claim) * (1 - keptShare);
  }

  private double boundMs(Claim claim) {
    return boundMs.getOrDefault(claim.serviceClass(), 0.0);
  }
}
