package io.kvasir.execution;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The report of how a call went. Immutable.
 *
 * @param worker the last that was tried, null when none could be chosen
 * @param outcome how it went there, null when none could be chosen
 * @param tries how many workers were tried
 * @param prediction what the index expected of the caches
 * @param usage what the engine reported
 * @param timing where the time went
 */
public record Report(
    @Nullable Worker worker,
    @Nullable Outcome outcome,
    int tries,
    CachePrediction prediction,
    TokenUsage usage,
    Timing timing) {
  /**
   * What the index expected of the caches of the worker that reads the prompt, and of others.
   *
   * @param role of the step in which it reads it
   * @param tokens of the prompt that are cached
   */
  public record CachePrediction(Role role, CachedTokens tokens) {
    /** Nothing was expected. */
    public static final CachePrediction NONE = new CachePrediction(Role.BOTH, CachedTokens.NONE);

    /** What was expected of a step's worker. */
    public static CachePrediction of(Decision.Chosen chosen) {
      return new CachePrediction(chosen.step().role(), chosen.cached());
    }
  }

  /**
   * The tokens of a call as the engine reported them, each {@link Outcome#UNKNOWN} without a figure.
   *
   * @param promptTokens tokens of the prompt
   * @param cachedTokens those of them that it had in its cache
   * @param outputTokens tokens generated
   * @param streamedEvents events of the answer that streamed, each a token or more; 0 for one that did not stream
   */
  public record TokenUsage(int promptTokens, int cachedTokens, int outputTokens, int streamedEvents) {
    /** The engine reported nothing. */
    public static final TokenUsage UNKNOWN = new TokenUsage(Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN, 0);
  }

  /**
   * The time of a call's parts, in nanoseconds.
   *
   * @param decideNanos spent in deciding, all tries together
   * @param headNanos from sending the request to the head of its response, at the last worker; 0 without one
   */
  public record Timing(long decideNanos, long headNanos) {}

  /** The same with another outcome. */
  public Report with(Outcome other) {
    return new Report(worker, other, tries, prediction, usage, timing);
  }
}
