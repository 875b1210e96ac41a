package io.kvasir.execution;

/** Whether the client is still there. Thread-safe. */
public interface CancellationSource {
  /** Runs {@code action} once if the client leaves before the answer is complete; at once if it has left. */
  void onCancelled(Runnable action);
}
