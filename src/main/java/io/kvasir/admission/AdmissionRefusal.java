package io.kvasir.admission;

/**
 * Why a request was not admitted. Crosses the cluster with the decision.
 *
 * @param callersOwn whether it is for what its caller has waiting, and not for what the fleet lacks; known of a reason
 *     of a later version, too
 * @param knob the setting that moves the limit: its path in the configuration, below {@code kvasir}
 * @param measured what was measured
 * @param limit the most that is let through
 * @param unit of both
 * @param retryAfterMillis when the same request may be admitted, at least 1; with jitter, so that callers do not return
 *     together
 */
public record AdmissionRefusal(
    RefusalReason reason,
    boolean callersOwn,
    String knob,
    long measured,
    long limit,
    String unit,
    long retryAfterMillis) {
  /** One that this node makes. */
  public AdmissionRefusal(
      RefusalReason reason, String knob, long measured, long limit, String unit, long retryAfterMillis) {
    this(reason, reason == RefusalReason.TENANT_QUEUE_FULL, knob, measured, limit, unit, retryAfterMillis);
  }
}
