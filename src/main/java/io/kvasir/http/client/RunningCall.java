package io.kvasir.http.client;

/** A call that waits for its pod: its deadline is checked now and then, and it can be ended. Thread-safe. */
interface RunningCall {
  /** Cuts the call if the pod has been silent for too long. */
  void checkDeadline(long now);

  /** Ends the call at once. Idempotent. */
  void abort();
}
