package io.kvasir.execution;

import io.kvasir.cell.Outcome;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * How a call went.
 *
 * @param worker the last that was tried, null when none could be chosen
 * @param outcome how it went there, null when none could be chosen
 * @param tries how many workers were tried
 * @param predictedCachedTokens tokens of the prompt that the index has in that worker's cache
 * @param confirmedCachedTokens those of them that its engine's events have confirmed
 * @param promptTokens as the engine counted them, {@link Outcome#UNKNOWN} without a figure
 * @param cachedTokens as the engine reported them, {@link Outcome#UNKNOWN} without a figure
 * @param outputTokens tokens generated, {@link Outcome#UNKNOWN} without a figure
 * @param decideNanos spent in deciding, all tries together
 * @param headNanos from sending the request to the head of its answer, at the last worker; 0 without one
 */
public record Report(
    @Nullable Worker worker,
    @Nullable Outcome outcome,
    int tries,
    int predictedCachedTokens,
    int confirmedCachedTokens,
    int promptTokens,
    int cachedTokens,
    int outputTokens,
    long decideNanos,
    long headNanos) {
  /** The same with another outcome. */
  public Report with(Outcome other) {
    return new Report(
        worker, other, tries, predictedCachedTokens, confirmedCachedTokens, promptTokens, cachedTokens, outputTokens,
        decideNanos, headNanos);
  }
}
