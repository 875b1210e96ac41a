package io.kvasir.routing.cost;

/**
 * A sample of a time to first token, from which costs are learnt.
 *
 * @param promptTokens tokens of the prompt, counted as decisions count them; at least 1
 * @param uncachedTokens tokens that the engine had to compute, 1 to {@code promptTokens}
 * @param queueMs milliseconds of work queued when the request was sent, by the coefficients of that time; 0 or more
 * @param ttftMs milliseconds from sending the request to its first token, more than 0
 */
public record PrefillSample(int promptTokens, int uncachedTokens, double queueMs, double ttftMs) {
  private static final double MAX_MS = 3_600_000;

  /** Whether the values are in range: engines and clocks report wrong ones now and then. */
  boolean isPlausible() {
    return promptTokens >= 1
        && uncachedTokens >= 1
        && uncachedTokens <= promptTokens
        && queueMs >= 0
        && queueMs <= MAX_MS
        && ttftMs > 0
        && ttftMs <= MAX_MS;
  }

  /** The same prompt on an engine that takes {@code pace} times as long for everything. */
  PrefillSample paced(double pace) {
    return pace == 1 ? this : new PrefillSample(promptTokens, uncachedTokens, pace * queueMs, pace * ttftMs);
  }
}
