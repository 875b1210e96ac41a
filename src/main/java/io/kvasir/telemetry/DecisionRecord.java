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
 * How one request was routed, in words and numbers of its own, so that it can be logged, shown, sent to another node
 * and replayed. Of the prompt it has hashes and counts, never text; of texts that tell who asked, hashes.
 *
 * @param time when, ISO 8601
 * @param requestId the client's or our own; a retry is a decision of its own under the same id
 * @param model as the request named it
 * @param profile name of the profile that decided
 * @param cell the cell that was decided for
 * @param promptTokens tokens of the prompt
 * @param blocks blocks of its chain
 * @param blockSize tokens in one of them
 * @param chain hashes of the first blocks, hexadecimal; the others add little
 * @param slots what preparers had filled: numbers and names from the configuration as they are, other texts,
 *     such as session keys, hashed
 * @param expectedOutputTokens length of answer that was reckoned with
 * @param excluded workers that had failed the request before
 * @param refused why there is no plan, such as {@code all_full}; null when there is one
 * @param reason the decision in one line, or why there is none
 * @param plan who does what; empty without a plan
 * @param passes how each worker was chosen, in order: one for a plan of one step, more for others
 * @param cells where a model has several cells, those that were looked at, in the order in which the request prefers
 *     them; null when it has one, and in what the cell itself records
 */
public record DecisionRecord(
    String time,
    String requestId,
    String model,
    String profile,
    String cell,
    int promptTokens,
    int blocks,
    int blockSize,
    List<String> chain,
    Map<String, String> slots,
    double expectedOutputTokens,
    List<String> excluded,
    @Nullable String refused,
    String reason,
    List<StepRecord> plan,
    List<Pass> passes,
    @Nullable List<CellOption> cells) {

  /** Whatever a record was read from, its parts are there. */
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

  /** How many hashes of a chain are told. */
  public static final int HASHES = 64;

  private static final int HASH_BYTES = 8;

  /** As texts that may tell who asked are put down: what is the same has the same hash. */
  public static String hashed(String text) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, HASH_BYTES);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java has SHA-256", impossible);
    }
  }

  /** Whether a slot held a text, given as it was or by its hash. */
  public boolean slotContained(String slot, String text) {
    String hash = slots.get(slot);
    return hash != null && (hash.equals(text) || hash.equals(hashed(text)));
  }

  /** The same, with the cells it was decided among. */
  public DecisionRecord withCellOptions(List<CellOption> options) {
    return new DecisionRecord(
        time, requestId, model, profile, cell, promptTokens, blocks, blockSize, chain, slots, expectedOutputTokens,
        excluded, refused, reason, plan, passes, List.copyOf(options));
  }

  /**
   * One cell of several.
   *
   * @param cell its name
   * @param pressure share of what it can do that is in use; null while its home is not heard of
   * @param bound more pressure than this passes it over while another has less
   * @param passedOver why another was asked, or asked next: {@code pressure}, or that it had {@code no worker}; null
   *     for the one that decided and those after it
   */
  public record CellOption(String cell, @Nullable Double pressure, double bound, @Nullable String passedOver) {}

  /**
   * One worker's part in the plan.
   *
   * @param step its name
   * @param role what the worker has to be able to do
   * @param worker who does it
   * @param alternatives who would have been next, best first
   * @param depth leading blocks of the chain the worker holds
   * @param cachedTokens what the engine should report as cached
   * @param onFailure what happens when the worker fails
   */
  public record StepRecord(
      String step,
      String role,
      String worker,
      List<String> alternatives,
      int depth,
      int cachedTokens,
      String onFailure) {}

  /**
   * One pass of filters, scores and a pick.
   *
   * @param role what was asked for
   * @param chosen who was chosen, null when nobody could be
   * @param candidates every worker that was alive, by slot
   */
  public record Pass(String role, @Nullable String chosen, List<CandidateRecord> candidates) {
    /** Whatever a pass was read from, its parts are there. */
    public Pass {
      Objects.requireNonNull(role, "role");
      Objects.requireNonNull(candidates, "candidates");
    }
  }

  /**
   * One live worker.
   *
   * @param worker its id
   * @param slot its place in the cell
   * @param removedBy name of the filter that removed it, null when none did
   * @param depth leading blocks it holds; 0 when it was removed
   * @param tiers how many of those it holds where, as far as its events tell
   * @param inFlight requests in flight
   * @param pendingTokens uncached prompt tokens whose first token had not been seen
   * @param queueMs estimated ms to compute those
   * @param contextTokens prompt tokens of the requests in flight
   * @param scores what each scorer said, in the profile's order; empty when it was removed
   * @param total the sum the picker saw, more is better; 0 when it was removed
   * @param state how sure the index is of it; null where that is not known
   * @param facts what it is
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
      List<ScoreRecord> scores,
      double total,
      @Nullable IndexState state,
      WorkerFacts facts) {
    /** Whatever a candidate was read from, its parts are there. */
    public CandidateRecord {
      Objects.requireNonNull(worker, "worker");
      Objects.requireNonNull(scores, "scores");
      Objects.requireNonNull(facts, "facts");
    }
  }

  /**
   * One scorer's word on one worker.
   *
   * @param scorer its name
   * @param raw the number it gave, in its own unit
   * @param contribution what that added to the total
   */
  public record ScoreRecord(String scorer, double raw, double contribution) {}

  /**
   * How sure the index is of a worker.
   *
   * @param watermark number of the last event message applied, -1 before the first
   * @param suspectMs for how long events have been known to be missing, null while none are
   * @param trust what the index's word on it was worth, 0 to 1
   */
  public record IndexState(long watermark, @Nullable Long suspectMs, double trust) {}

  /**
   * What a worker is.
   *
   * @param pod its endpoint
   * @param rank data-parallel rank
   * @param ranks how many the pod has
   * @param role what it may do
   * @param models the base model first, its adapters after it
   * @param labels the operator's
   * @param maxInFlight requests it may have in flight
   * @param engine name of its latency coefficients
   * @param msPerToken ms per prompt token as reckoned with, learnt or by the table
   * @param msPerPair ms per token and earlier token attended to
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
