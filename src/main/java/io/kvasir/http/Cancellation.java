package io.kvasir.http;

/**
 * The token by which work for a client learns that the client no longer waits for it. It changes at most once, from not
 * cancelled to cancelled. Thread-safe.
 */
public interface Cancellation {
  /** The token of work that is never cancelled. */
  Cancellation NONE =
      new Cancellation() {
        @Override
        public boolean isCancelled() {
          return false;
        }

        @Override
        public Registration onCancelled(Runnable action) {
          return () -> {};
        }
      };

  boolean isCancelled();

  /**
   * Runs {@code action} once on cancellation, on the thread that cancels; at once, on the caller's, when that has
   * happened already. The action must not block.
   *
   * @return takes the action back, for work that ends before the token does
   */
  Registration onCancelled(Runnable action);

  /** An action that waits for a cancellation. */
  @FunctionalInterface
  interface Registration extends AutoCloseable {
    /** Takes the action back: it does not run any more, unless it has begun. Idempotent. */
    @Override
    void close();
  }
}
