package io.kvasir.enginemodel;

/**
 * The time of one engine iteration. With N tokens in the iteration (chunks of prompts plus one per
 * decoding sequence), q and ctx the tokens and the cached context of each chunk, and B sequences:
 *
 * <pre>
 *   weight + token · max(0, N − knee) + attention · Σ q (ctx + q/2)
 *          + decodeContext · Σ ctx_decode + (sequence + sequenceOverhead) · B + overhead
 * </pre>
 *
 * <p>Below the knee an iteration is bound by reading the weights, so tokens are free there. The
 * coefficients were fitted to measured vLLM kernels (NVIDIA AIConfigurator); {@link EngineModel} has
 * the bundled sets.
 *
 * @param weightMs reading the weights once, milliseconds
 * @param kneeTokens tokens an iteration computes for free
 * @param tokenUs microseconds per token beyond the knee
 * @param attentionNs nanoseconds per (prompt token, context token) pair
 * @param decodeContextUs microseconds per 1,000 tokens of context of the decoding sequences
 * @param sequenceUs microseconds per sequence in the iteration
 * @param overheadMs milliseconds of scheduling and sampling per iteration
 * @param sequenceOverheadUs microseconds of scheduling and sampling per sequence
 */
public record StepTime(
    double weightMs,
    double kneeTokens,
    double tokenUs,
    double attentionNs,
    double decodeContextUs,
    double sequenceUs,
    double overheadMs,
    double sequenceOverheadUs) {

  /** The milliseconds of {@code step}; 0 when it is empty. */
  public double millis(EngineStep<?> step) {
    if (step.sequences.isEmpty()) {
      return 0;
    }
    return weightMs
        + tokenUs * 1e-3 * Math.max(0, step.tokens() - kneeTokens)
        + attentionNs * 1e-6 * step.attentionPairs()
        + decodeContextUs * 1e-6 * step.decodeContext()
        + (sequenceUs + sequenceOverheadUs) * 1e-3 * step.sequences.size()
        + overheadMs;
  }
}
