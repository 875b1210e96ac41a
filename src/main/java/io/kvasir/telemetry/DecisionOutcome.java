package io.kvasir.telemetry;

import org.jspecify.annotations.Nullable;

/**
 * The outcome of a request on a worker of a {@link DecisionRecord}.
 *
 * @param time when it was over, ISO 8601
 * @param requestId the decision's request id
 * @param step name of the plan's step
 * @param worker the worker's id
 * @param outcome completed, cancelled, refused, failed or lost_contact
 * @param heldMs milliseconds for which it was held until earlier requests had computed what it counts on, null when it
 *     was not
 * @param ttftMs milliseconds to the first token, null when there was none
 * @param promptTokens as the engine counted them, null when it did not report them
 * @param predictedCachedTokens tokens expected to be reported as cached
 * @param bestCachedTokens the most that any worker held that passed the filters
 * @param everCachedTokens tokens of the prompt that the cell had seen before, whoever held them then
 * @param regret share of the tokens to compute that the best worker held, 0 to 1
 * @param cachedTokens tokens reported as cached, null when not reported
 * @param hits what became of the prediction of {@code cachedTokens}: kept, broken, or overtaken when the engine evicted
 *     the blocks while the prompt waited; null when nothing was predicted or reported
 * @param outputTokens tokens generated, null when the engine did not report them
 */
public record DecisionOutcome(
    String time,
    String requestId,
    String step,
    String worker,
    String outcome,
    @Nullable Double heldMs,
    @Nullable Double ttftMs,
    @Nullable Integer promptTokens,
    int predictedCachedTokens,
    int bestCachedTokens,
    int everCachedTokens,
    double regret,
    @Nullable Integer cachedTokens,
    @Nullable String hits,
    @Nullable Integer outputTokens) {}
