package io.kvasir.routing;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a decision came about: every live worker, what removed it or how it scored. Made only when asked for.
 *
 * @param requestId the request
 * @param profile the profile's name
 * @param role what was asked for
 * @param promptTokens tokens of the prompt
 * @param blocks blocks of its chain
 * @param selection what was decided; in a dry run nothing was booked
 * @param candidates every worker that was alive, by slot
 */
public record Explanation(
    String requestId,
    String profile,
    Role role,
    int promptTokens,
    int blocks,
    Selection selection,
    List<Candidate> candidates) {

  /**
   * One live worker.
   *
   * @param worker the worker
   * @param removedBy name of the filter that removed it, null when none did
   * @param depth leading blocks it holds; 0 when it was removed
   * @param inFlight requests in flight
   * @param pendingTokens uncached prompt tokens whose first token has not been seen
   * @param queueMs estimated ms to compute those
   * @param contextTokens prompt tokens of the requests in flight
   * @param scores what each scorer said, in the profile's order; empty when it was removed
   * @param total the sum the picker saw, more is better; 0 when it was removed
   */
  public record Candidate(
      Worker worker,
      @Nullable String removedBy,
      int depth,
      int inFlight,
      long pendingTokens,
      double queueMs,
      long contextTokens,
      List<Score> scores,
      double total) {}

  /**
   * One scorer's word on one worker.
   *
   * @param scorer its name
   * @param raw the number it gave, in its own unit
   * @param contribution what that added to the total, after direction, normalisation and weight
   */
  public record Score(String scorer, double raw, double contribution) {}
}
