package io.kvasir.telemetry;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The record of one routing decision, self-contained, so that it can be logged, shown, sent to another node and
 * replayed. Of the prompt it has hashes and counts, never text; texts that identify a user are hashed.
 *
 * @param time when, ISO 8601
 * @param requestId the client's, or the one the router gave; a retry is another decision under the same id
 * @param traceId the request's trace, 32 hexadecimal digits; null when it is in none
 * @param model as the request named it
 * @param profile name of the profile that decided
 * @param cell the cell whose workers were considered
 * @param promptTokens tokens of the prompt
 * @param blocks blocks of its chain
 * @param blockSize tokens in one of them
 * @param tokensFrom how the tokens were found: {@code exact}, {@code engine}, {@code text} or {@code none}; null in a
 *     record of an earlier version
 * @param chain hashes of the first {@value #HASHES} blocks, hexadecimal
 * @param slots values of the routing slots: numbers and names from the configuration as they are, other texts,
 *     such as session keys, hashed
 * @param expectedOutputTokens estimated tokens of the answer
 * @param excluded workers that failed the request before
 * @param refused why there is no plan, such as {@code all_full}; null when there is one
 * @param reason the decision in one line, or why there is none
 * @param plan the steps; empty without a plan
 * @param passes how each worker was chosen, in order: one for a plan of one step, more for others
 * @param cells where a model has several cells, those considered, in the order in which the request prefers
 *     them; null when it has one, and in records made by the cell itself
 */
public record DecisionRecord(
    String time,
    String requestId,
    @Nullable String traceId,
    String model,
    String profile,
    String cell,
    int promptTokens,
    int blocks,
    int blockSize,
    @Nullable String tokensFrom,
    List<String> chain,
    Map<String, String> slots,
    double expectedOutputTokens,
    List<String> excluded,
    @Nullable String refused,
    String reason,
    List<StepRecord> plan,
    List<Pass> passes,
    @Nullable List<CellOption> cells) {

  /** Checks that the required parts are present. */
  public DecisionRecord {
    Objects.requireNonNull(requestId, "request_id");
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(profile, "profile");
    Objects.requireNonNull(chain, "chain");
    Objects.requireNonNull(slots, "slots");
    Objects.requireNonNull(excluded, "excluded");
    Objects.requireNonNull(plan, "plan");
    Objects.requireNonNull(passes, "passes");
  }

  /** The number of hashes of a chain in a record. */
  public static final int HASHES = 64;

  private static final int HASH_BYTES = 8;

  /** The hash that replaces a text that may identify a user; equal texts have equal hashes. */
  public static String hashed(String text) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, HASH_BYTES);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java has SHA-256", impossible);
    }
  }

  /** Whether a slot held a text, given as text or as hash. */
  public boolean slotContained(String slot, String text) {
    String hash = slots.get(slot);
    return hash != null && (hash.equals(text) || hash.equals(hashed(text)));
  }

  /** This record with the cells among which it was decided. */
  public DecisionRecord withCellOptions(List<CellOption> options) {
    return new DecisionRecord(
        time, requestId, traceId, model, profile, cell, promptTokens, blocks, blockSize, tokensFrom,
        chain, slots, expectedOutputTokens, excluded, refused, reason, plan, passes, List.copyOf(options));
  }

  /**
   * A cell among several of one model.
   *
   * @param cell its name
   * @param pressure share of its capacity in use; null while unknown
   * @param bound pressure above which it is passed over while another cell has less
   * @param passedOver why it was passed over: {@code pressure}, or {@code no worker}; null for the cell that decided
   *     and those after it
   */
  public record CellOption(String cell, @Nullable Double pressure, double bound, @Nullable String passedOver) {}

  /**
   * One worker's part in the plan.
   *
   * @param step its name
   * @param role role the step needs
   * @param worker the worker's id
   * @param alternatives the next workers, best first
   * @param depth leading blocks of the chain the worker holds
   * @param cachedTokens tokens the engine should report as cached
   * @param bestCachedTokens the most that any worker held that passed the filters; null in a record of an earlier
   *     version
   * @param everCachedTokens tokens of the prompt that the cell has seen before, whoever holds them now; likewise
   * @param regret share of the tokens to compute that the best worker held, 0 to 1; likewise
   * @param onFailure failure policy of the step
   */
  public record StepRecord(
      String step,
      String role,
      String worker,
      List<String> alternatives,
      int depth,
      int cachedTokens,
      @Nullable Integer bestCachedTokens,
      @Nullable Integer everCachedTokens,
      @Nullable Double regret,
      String onFailure) {}

  /**
   * One pass of filters, scores and a pick.
   *
   * @param role role the pass chose for
   * @param chosen the chosen worker, null for none
   * @param candidates every worker that was alive, by slot
   */
  public record Pass(String role, @Nullable String chosen, List<CandidateRecord> candidates) {
    /** Checks that the required parts are present. */
    public Pass {
      Objects.requireNonNull(role, "role");
      Objects.requireNonNull(candidates, "candidates");
    }
  }

  /**
   * One live worker.
   *
   * @param worker its id
   * @param slot its slot in the cell
   * @param removedBy name of the filter that removed it, null when none did
   * @param depth leading blocks that it holds and its engine can go on from, whether it was removed or not
   * @param tiers how many of those it holds in each tier, according to its events
   * @param inFlight requests in flight
   * @param pendingTokens uncached prompt tokens of requests without a first token yet
   * @param queueMs estimated milliseconds to compute those
   * @param contextTokens prompt tokens of the requests in flight
   * @param waiting requests waiting in the engine, null where it does not report them, and in a record of an earlier
   *     version
   * @param kvUse share of its KV cache in use by requests, 0 to 1; likewise
   * @param evictionLoss share of what it evicted lately that had to be computed again, 0 to 1; null in a record of an
   *     earlier version
   * @param scores each scorer's score, in the profile's order; empty when it was removed
   * @param total the total score, higher is better; 0 when it was removed
   * @param state freshness of the index for it; null where unknown
   * @param facts the worker's properties
   */
  public record CandidateRecord(
      String worker,
      int slot,
      @Nullable String removedBy,
      int depth,
      Map<String, Integer> tiers,
      int inFlight,
      long pendingTokens,
      double queueMs,
      long contextTokens,
      @Nullable Integer waiting,
      @Nullable Double kvUse,
      @Nullable Double evictionLoss,
      List<ScoreRecord> scores,
      double total,
      @Nullable IndexState state,
      WorkerFacts facts) {
    /** Checks that the required parts are present. */
    public CandidateRecord {
      Objects.requireNonNull(worker, "worker");
      Objects.requireNonNull(scores, "scores");
      Objects.requireNonNull(facts, "facts");
    }
  }

  /**
   * One scorer's score of one worker.
   *
   * @param scorer its name
   * @param raw the score, in the scorer's own unit
   * @param contribution its part of the total
   */
  public record ScoreRecord(String scorer, double raw, double contribution) {}

  /**
   * The freshness of the index for a worker.
   *
   * @param watermark number of the last event message applied, -1 before the first
   * @param suspectMs milliseconds since events are known to be missing, null while none are
   * @param trust confidence in the index's depth for it, 0 to 1
   * @param mode how the index learns what it holds, such as {@code live}; null in a record of an earlier version
   */
  public record IndexState(long watermark, @Nullable Long suspectMs, double trust, @Nullable String mode) {}

  /**
   * The properties of a worker.
   *
   * @param pod its pod's name
   * @param rank data-parallel rank
   * @param ranks number of ranks of the pod
   * @param role its role
   * @param models the base model first, its adapters after it
   * @param labels its labels
   * @param maxInFlight limit of its requests in flight
   * @param engine name of its latency coefficients
   * @param msPerToken estimated milliseconds per prompt token, learnt or from the table
   * @param msPerPair estimated milliseconds per pair of a token and an earlier one it attends to
   */
  public record WorkerFacts(
      String pod,
      int rank,
      int ranks,
      String role,
      List<String> models,
      Map<String, String> labels,
      int maxInFlight,
      String engine,
      double msPerToken,
      double msPerPair) {}
}
