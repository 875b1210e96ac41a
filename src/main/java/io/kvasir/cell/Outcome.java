package io.kvasir.cell;

/** How a request ended on a worker: feeds passive health, the circuit breaker and the accuracy of cache hits. */
public sealed interface Outcome {
  /** The engine reported no figure. */
  int UNKNOWN = -1;

  /**
   * The worker answered (2xx, or 4xx that was the client's own fault).
   *
   * @param promptTokens as the engine counted them, {@link #UNKNOWN} when it did not report them
   * @param cachedTokens as the engine reported them, {@link #UNKNOWN} when it did not report them
   * @param outputTokens tokens generated, {@link #UNKNOWN} when it did not report them
   * @param ttftMicros from dispatch to the first byte of the answer's body
   */
  record Completed(int promptTokens, int cachedTokens, int outputTokens, long ttftMicros) implements Outcome {}

  /** The client left. */
  record Cancelled() implements Outcome {}

  /** The worker was full (429 or 503): not a failure, but not an answer either. */
  record Refused(int status) implements Outcome {}

  /**
   * The worker failed.
   *
   * @param transport whether the connection was refused, reset or cut, as opposed to an error answer
   * @param detail for the log
   */
  record Failed(boolean transport, String detail) implements Outcome {}
}
