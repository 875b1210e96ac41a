package io.kvasir.tracing;

import org.jspecify.annotations.Nullable;

/**
 * What is noted of a decision. Immutable.
 *
 * @param startNanos when it began
 * @param endNanos when it was made, that of another node's round trip included
 * @param profile that it went by
 * @param worker whose answer is to be the client's, null when there is none
 * @param reason in short, or why there is no worker
 * @param tokens of the prompt
 * @param origin where it was made, null when that is not known
 */
public record TracedDecision(
    long startNanos, long endNanos, String profile, @Nullable String worker, String reason, Tokens tokens,
    @Nullable Origin origin) {
  /**
   * The tokens of a decision.
   *
   * @param prompt all of the prompt's
   * @param best the most that any worker had cached that could have been chosen
   * @param promised those that the chosen worker should have cached
   */
  public record Tokens(int prompt, int best, int promised) {}

  /**
   * Where a decision was made.
   *
   * @param way {@code local}, {@code line} (a peer connection), {@code cluster} or {@code fallback}
   * @param cell that the worker is of
   * @param home the node that decided, null where it is this one
   */
  public record Origin(String way, String cell, @Nullable String home) {}
}
