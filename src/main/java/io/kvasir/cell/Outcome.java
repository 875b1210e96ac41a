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

  /** The cell took the request back before its answer began: it says nothing of the worker. */
  record Preempted() implements Outcome {}

  /** The worker said that it is full (429 or 503): not a failure while it has other requests, nor an answer. */
  record Refused(int status) implements Outcome {}

  /**
   * The worker failed.
   *
   * @param transport whether the connection was refused, reset or cut, as opposed to an error answer
   * @param detail for the log
   */
  record Failed(boolean transport, String detail) implements Outcome {}

  /**
   * The worker answered that it does not serve a model that the roster says it has: its own failure, which has nothing
   * to do with what was asked.
   *
   * @param status of its answer
   * @param model as the request named it
   */
  record UnknownModel(int status, String model) implements Outcome {
    /** The failure in words that follow the worker's name. */
    public String detail() {
      return "it answers that it does not serve the model '%s' (status %d)".formatted(model, status);
    }
  }
}
