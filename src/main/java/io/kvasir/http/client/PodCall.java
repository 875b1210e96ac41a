package io.kvasir.http.client;

/** One request to a pod. {@link #send} once, from one thread; {@link #abort} from any. */
public interface PodCall {
  /**
   * Sends the request and waits for the head of the answer. A {@link PodClient} sends it once more on a fresh
   * connection when a reused one turns out to be closed before a byte of the answer came, but only if the pod cannot
   * have carried it out, or may do so twice: it was not sent whole, or its method is idempotent.
   *
   * @param sent runs when the whole request is written, before the answer is waited for; again when it is sent again
   * @throws PodException when there is no answer; its message has the reason
   */
  PodResponse send(Runnable sent) throws PodException;

  /** The same where nobody needs to know when it is written. */
  default PodResponse send() throws PodException {
    return send(() -> {});
  }

  /** Ends the call at once, whatever it is doing: the engine sees its client disconnect. Idempotent. */
  void abort();
}
