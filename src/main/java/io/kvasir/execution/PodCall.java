package io.kvasir.execution;

/** One request under way to a pod. {@link #send} once, from one thread; {@link #abort} from any. */
public final class PodCall {
  /**
   * Sends the request and waits for the head of the answer. When a reused connection turns out to be closed
   * before a byte of the answer came, the request is sent once more on a fresh one.
   *
   * @throws PodException when there is no answer; says what went wrong
   */
  public PodResponse send() throws PodException {
    throw new UnsupportedOperationException("not built yet");
  }

  /** Closes the call's connection at once, whatever it is doing: the engine sees its client gone. Idempotent. */
  public void abort() {
    throw new UnsupportedOperationException("not built yet");
  }
}
