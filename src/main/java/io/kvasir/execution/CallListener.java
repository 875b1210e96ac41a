package io.kvasir.execution;

import io.kvasir.routing.Worker;

/** Hears how a call goes on while its answer streams. Called on the thread that relays it. */
public interface CallListener {
  /** The answer has told its id, and the bytes that tell it have not gone to the client yet. */
  void identified(String answerId, Worker worker);

  /** The first piece of the answer itself is here. */
  void firstToken();

  /** A {@link Result.Streaming} is over, in whatever way. Once; not called for any other result. */
  void ended(Report report);
}
