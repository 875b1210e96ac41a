package io.kvasir.execution;

import io.kvasir.routing.Worker;

/** Receives the progress of a call while its response streams, on the thread that relays it. */
public interface CallListener {
  /** The call had to wait for its turn, before its worker was chosen. */
  default void waited(long millis) {}

  /** The response's id is known, and the bytes with it have not been sent to the client yet. */
  void identified(String answerId, Worker worker);

  /** The first token has arrived. */
  void firstToken();

  /** A {@link Result.Streaming} has ended, on whichever path. Once; not called for any other result. */
  void ended(Report report);
}
