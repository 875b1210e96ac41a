package io.kvasir.telemetry;

import org.jspecify.annotations.Nullable;

/**
 * What became of a request on a worker that a {@link DecisionRecord} tells of.
 *
 * @param time when it was over, ISO 8601
 * @param requestId the decision's
 * @param step the plan's step
 * @param worker who did it
 * @param outcome completed, cancelled, refused, failed or lost_contact
 * @param ttftMs to the first token, null when none was seen before the end
 * @param promptTokens as the engine counted them, null when it did not say
 * @param predictedCachedTokens what it was expected to report as cached
 * @param cachedTokens what it reported, null when it did not
 * @param outputTokens tokens generated, null when the engine did not say
 */
public record DecisionOutcome(
    String time,
    String requestId,
    String step,
    String worker,
    String outcome,
    @Nullable Double ttftMs,
    @Nullable Integer promptTokens,
    int predictedCachedTokens,
    @Nullable Integer cachedTokens,
    @Nullable Integer outputTokens) {}
