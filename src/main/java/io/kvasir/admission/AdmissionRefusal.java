package io.kvasir.admission;

/**
 * Why a request was not admitted.
 *
 * @param reason a short word for metrics and errors, from a fixed set
 * @param callersOwn whether it is for what its caller has waiting, and not for what the fleet lacks
 * @param knob the setting that moves the limit: its path in the configuration, below {@code kvasir}
 * @param measured what was measured
 * @param limit the most that is let through
 * @param unit of both
 * @param retryAfterMillis when the same request may be admitted, at least 1; with jitter, so that callers do not return
 *     together
 */
public record AdmissionRefusal(
    String reason, boolean callersOwn, String knob, long measured, long limit, String unit, long retryAfterMillis) {}
