package io.kvasir.routing;

/**
 * The load one request puts on the worker it is sent to. Never nothing: a load that reads as zero sends
 * everything to one worker, so there is no booking without a token to compute and time to do it in.
 *
 * @param promptTokens tokens of the prompt, at least 1
 * @param uncachedTokens those the worker has yet to compute, as the index knows it: 1 to {@code promptTokens}
 * @param prefillMicros estimated microseconds to compute them, at least 1
 */
public record Booking(int promptTokens, int uncachedTokens, long prefillMicros) {
  /**
   * Checks the ranges.
   *
   * @throws IllegalArgumentException when one is left, naming the field
   */
  public Booking {
    if (promptTokens < 1) {
      throw new IllegalArgumentException("promptTokens must be at least 1, is " + promptTokens);
    }
    if (uncachedTokens < 1 || uncachedTokens > promptTokens) {
      throw new IllegalArgumentException(
          "uncachedTokens must be between 1 and " + promptTokens + ", is " + uncachedTokens);
    }
    if (prefillMicros < 1) {
      throw new IllegalArgumentException("prefillMicros must be at least 1, is " + prefillMicros);
    }
  }

  /** The same prompt where its KV blocks are handed over: the last token is left to compute. */
  public Booking afterTransfer() {
    return new Booking(promptTokens, 1, 1);
  }
}
