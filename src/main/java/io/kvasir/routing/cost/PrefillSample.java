package io.kvasir.routing.cost;

/**
 * A prompt that an engine has begun to answer.
 *
 * @param promptTokens tokens of the prompt, counted as decisions count them; at least 1
 * @param uncachedTokens those the engine had to compute, 1 to {@code promptTokens}
 * @param queueMs work that was waiting there when the request was sent, by the coefficients of that time; 0 or more
 * @param ttftMs from sending the request to its first token, more than 0
 */
public record PrefillSample(int promptTokens, int uncachedTokens, double queueMs, double ttftMs) {
  private static final double MOST_MS = 3_600_000;

  /** Whether the figures can be true: engines and clocks say strange things now and then. */
  boolean isPlausible() {
    return promptTokens >= 1
        && uncachedTokens >= 1
        && uncachedTokens <= promptTokens
        && queueMs >= 0
        && queueMs <= MOST_MS
        && ttftMs > 0
        && ttftMs <= MOST_MS;
  }
}
