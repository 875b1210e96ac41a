package io.kvasir.cell.worker;

import io.kvasir.cell.events.CacheGroups;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.events.EventState;
import io.kvasir.index.Chain;
import io.kvasir.index.Prediction;
import io.kvasir.routing.PromptSize;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The cached prefix that a decision expected on the chosen worker, and the one it predicted to be there afterwards.
 *
 * @param blockSize tokens in a block of the prompt's chain
 * @param depth leading blocks it was found to hold, predicted ones included
 * @param reported whether the worker's events cover such blocks; what it holds of others can only be predicted
 * @param recomputation what the engine computes though it holds it
 * @param prediction what was predicted; null when there was nothing to predict
 * @param groups the same of a hybrid model's other groups; null for other models, and where nothing was predicted
 * @param hinted ages of the prompt's leading chunks that a cache beside the engine was reported to hold, see {@link
 *     ChunkHints#ages}; empty where there is none
 * @param eventState how far the worker's events had come by then
 */
public record HitPrediction(int blockSize, int depth, boolean reported, Recomputation recomputation,
    @Nullable Prediction prediction, @Nullable InGroups groups, int[] hinted, EventState eventState) {
  private static final int[] NO_HINTS = {};

  /**
   * What a hybrid model's other groups let an engine go on from.
   *
   * @param confirmed leading blocks at whose end it can, by what events have told
   * @param found the same by what had been predicted before, too
   * @param ends places from which it will be able to
   */
  record InGroups(int confirmed, int found, List<CacheGroups.PredictedEnd> ends) {}

  /** The ages of hinted chunks where there are hints. */
  static int[] hinted(@Nullable ChunkHints hints, Chain chain) {
    return hints == null ? NO_HINTS : hints.ages(chain);
  }

  /** The prediction for a worker that computes nothing of the prompt: no hit is expected, none can be missed. */
  public static HitPrediction none(Chain chain) {
    return new HitPrediction(chain.blockSize(), 0, true, Recomputation.NONE, null, null, NO_HINTS, EventState.START);
  }

  /**
   * Leading blocks that it turned out to hold as this was predicted, and can go on from: more than {@link #depth} when
   * another decision predicted some of them meanwhile. The same while that is not known.
   */
  public int found() {
    return prediction == null || !prediction.isPlaced()
        ? depth
        : groups == null ? recomputation.of(prediction.held()) : groups.found();
  }

  /** Leading blocks that it turned out to hold, of which it can go on from {@link #found}. */
  public int held() {
    return prediction == null || !prediction.isPlaced() ? depth : prediction.held();
  }

  /** Whether {@link #found} and {@link #held} are known; otherwise they will be at the end of the write in progress. */
  public boolean isPlaced() {
    return prediction == null || prediction.isPlaced();
  }

  /** How many of the {@link #depth} blocks the engine itself had reported; 0 while that is not known. */
  public int confirmed() {
    return reported ? Math.min(depth, prediction == null ? depth : Math.max(0, reportedBlocks(prediction))) : 0;
  }

  /** Leading blocks that the engine has reported, and can go on from; negative while that is not known. */
  private int reportedBlocks(Prediction placed) {
    int blocks = placed.confirmed() < 0 ? placed.confirmed() : recomputation.of(placed.confirmed());
    return groups == null ? blocks : Math.min(blocks, groups.confirmed());
  }

  /** As {@link #confirmed}, in tokens of a prompt of {@code promptTokens}. */
  public int confirmedTokens(int promptTokens) {
    return new PromptSize(promptTokens, blockSize).cached(confirmed());
  }

  /**
   * The tokens that the index predicted to be cached, whatever its trust: those the engine had reported, or of an
   * engine that reports none, those it was sent. 0 while that is not known.
   */
  public int expectedTokens(int promptTokens) {
    int blocks = prediction == null ? depth : reported ? reportedBlocks(prediction) : prediction.held();
    return new PromptSize(promptTokens, blockSize).cached(Math.max(0, blocks));
  }

  /** Tokens in a block of the engine's. */
  int engineBlock() {
    return blockSize * recomputation.parts();
  }

  /** Of blocks of which so many tokens were expected, the tokens that the engine holds. */
  int heldTokens(int expectedTokens) {
    return expectedTokens + recomputation.again() * blockSize;
  }

  /**
   * Whether tokens that were not found may have been there, and were evicted before the engine came to the prompt. A
   * hybrid model's engine finds nothing of all of them once a single block is gone that a window or a state needs, and
   * then it stores again what it has.
   */
  boolean explainedByEviction(int missingTokens, boolean hybrid, EventState now) {
    return reported
        && (hybrid
            ? now.anyEvictedSince(eventState)
            : now.evictedSince(Math.ceilDiv(missingTokens, blockSize), eventState));
  }

  /** The prompt will not be computed there. */
  public void retract() {
    if (prediction != null) {
      prediction.retract();
    }
    if (groups != null) {
      groups.ends().forEach(CacheGroups.PredictedEnd::retract);
    }
  }
}
