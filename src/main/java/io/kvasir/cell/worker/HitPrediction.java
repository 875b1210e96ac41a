package io.kvasir.cell.worker;

import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.events.EventState;
import io.kvasir.index.Chain;
import io.kvasir.index.Prediction;
import io.kvasir.routing.PromptSize;
import org.jspecify.annotations.Nullable;

/**
 * The cached prefix that a decision expected on the chosen worker, and the one it predicted to be there afterwards.
 *
 * @param blockSize tokens in a block of the prompt's chain
 * @param depth leading blocks it was found to hold, predicted ones included
 * @param reported whether the worker's events cover such blocks; what it holds of others can only be predicted
 * @param prediction what was predicted; null when there was nothing to predict
 * @param hinted ages of the prompt's leading chunks that a cache beside the engine was reported to hold, see {@link
 *     ChunkHints#ages}; empty where there is none
 * @param eventState how far the worker's events had come by then
 */
public record HitPrediction(int blockSize, int depth, boolean reported, @Nullable Prediction prediction,
    int[] hinted, EventState eventState) {
  private static final int[] NO_HINTS = {};

  /** The ages of hinted chunks where there are hints. */
  static int[] hinted(@Nullable ChunkHints hints, Chain chain) {
    return hints == null ? NO_HINTS : hints.ages(chain);
  }

  /** The prediction for a worker that computes nothing of the prompt: no hit is expected, none can be missed. */
  public static HitPrediction none(Chain chain) {
    return new HitPrediction(chain.blockSize(), 0, true, null, NO_HINTS, EventState.START);
  }

  /** How many of the {@link #depth} blocks the engine itself had reported; 0 while that is not known. */
  public int confirmed() {
    return reported ? Math.min(depth, prediction == null ? depth : Math.max(0, prediction.confirmed())) : 0;
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
    int blocks = prediction == null ? depth : reported ? prediction.confirmed() : prediction.held();
    return new PromptSize(promptTokens, blockSize).cached(Math.max(0, blocks));
  }

  /** Whether tokens that were not found had been there, and were evicted before the engine came to the prompt. */
  boolean explainedByEviction(int missingTokens, EventState now) {
    return reported && now.evictedSince(Math.ceilDiv(missingTokens, blockSize), eventState);
  }

  /** The prompt will not be computed there. */
  public void retract() {
    if (prediction != null) {
      prediction.retract();
    }
  }
}
