package io.kvasir.admission;

/**
 * A request in a {@link WaitingRoom}. One thread at a time calls it, without a lock, and it does not wait. After a call
 * that ended its wait there are no further ones.
 */
public interface Waiter {
  /** What has come of a try. */
  sealed interface Attempt {
    /** It waits on. */
    record Held(HoldReason reason) implements Attempt {
      /** Whether that is for a reason of its own, which says nothing of those behind it: they are tried, too. */
      boolean alone() {
        return reason == HoldReason.PROGRAM;
      }
    }

    /**
     * It has a worker.
     *
     * @param promptTokens of its prompt
     * @param uncachedTokens that the worker has to compute
     */
    record Went(int promptTokens, int uncachedTokens) implements Attempt {}

    /** It has been refused, or its client has left: it waits no longer and has no worker. */
    record Ended() implements Attempt {}
  }

  /**
   * Tries whether it may go now.
   *
   * @param standing how it stands to the others that wait
   */
  Attempt attempt(Standing standing);

  /** Ends the wait: it is refused. */
  void refused(AdmissionRefusal refusal);

  /** Ends the wait: the cell has another home from now on, where it can be added again. */
  void dismissed();
}
