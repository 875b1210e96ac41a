package io.kvasir.routing;

/**
 * The load that one request adds to its worker. A booking is never zero: with loads of zero one worker would attract
 * every request, so each has at least one token to compute and a time to do it in.
 *
 * @param promptTokens tokens of the prompt, at least 1
 * @param uncachedTokens tokens that the worker has yet to compute by the index: 1 to {@code promptTokens}
 * @param prefillMicros estimated microseconds to compute them, at least 1
 */
public record Booking(int promptTokens, int uncachedTokens, long prefillMicros) {
  /**
   * Checks the ranges.
   *
   * @throws IllegalArgumentException when a field is out of range, naming it
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

  /** The booking when the prompt's KV blocks are transferred to the worker: only the last token is left to compute. */
  public Booking afterTransfer() {
    return new Booking(promptTokens, 1, 1);
  }
}
