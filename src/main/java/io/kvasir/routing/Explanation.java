package io.kvasir.routing;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The explanation of one decision: every live worker, the filter that removed it or its scores. Made for dry runs and
 * sampled decisions only.
 *
 * @param requestId the request
 * @param profile the profile's name
 * @param role role of the step that a worker was chosen for
 * @param promptTokens tokens of the prompt
 * @param blocks blocks of its chain
 * @param selection the outcome; in a dry run nothing was booked
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
   * @param waiting requests waiting in the engine, {@link Candidates#UNKNOWN} where it does not report them
   * @param kvUse share of its KV cache in use, 0 to 1, {@link Candidates#UNKNOWN} where it does not report it
   * @param evictionLoss share of what it evicted lately that had to be computed again, 0 to 1
   * @param scores each scorer's score, in the profile's order; empty when it was removed
   * @param total the weighted sum that the picker ranked by, more is better; 0 when it was removed
   */
  public record Candidate(
      Worker worker,
      @Nullable String removedBy,
      int depth,
      int inFlight,
      long pendingTokens,
      double queueMs,
      long contextTokens,
      int waiting,
      double kvUse,
      double evictionLoss,
      List<Score> scores,
      double total) {}

  /**
   * One scorer's score of one worker.
   *
   * @param scorer the scorer's name
   * @param raw the score in the scorer's own unit
   * @param contribution its part of the total, after direction, normalisation and weight
   */
  public record Score(String scorer, double raw, double contribution) {}
}
