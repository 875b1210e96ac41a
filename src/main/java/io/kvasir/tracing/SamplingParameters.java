package io.kvasir.tracing;

/**
 * The parameters of an answer as a request has them: {@link #NONE} for what it leaves to the engine, and NaN.
 *
 * @param maxTokens the longest answer
 * @param choices how many answers
 */
public record SamplingParameters(
    long maxTokens, long choices, long seed, double temperature, double topP, double topK, double frequencyPenalty,
    double presencePenalty) {
  /** A count that the request does not have. */
  public static final long NONE = Long.MIN_VALUE;

  /** All of them are left to the engine. */
  public static final SamplingParameters UNSET =
      new SamplingParameters(NONE, NONE, NONE, Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN);
}
