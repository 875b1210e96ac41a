package io.kvasir.sim.transfer;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What one sequence has to do with another engine. */
public sealed interface TransferSpec {
  /** Nothing. */
  record NoTransfer() implements TransferSpec {}

  /**
   * Its blocks are for another engine.
   *
   * @param id by which the other names them
   * @param rank the rank that has to compute them; −1 for any
   * @param keepOnStop whether they are kept, too, when the first token ends the answer
   * @param firstTokenOnly whether the engine stops after the first token by itself
   * @param awaitsReceiver whether nothing is computed before the other has asked
   */
  record Send(String id, int rank, boolean keepOnStop, boolean firstTokenOnly, boolean awaitsReceiver)
      implements TransferSpec {}

  /**
   * Another engine has its first tokens.
   *
   * @param host where that engine's side channel is
   * @param port of the side channel
   * @param engine the engine's id as the request names it; null when it does not
   * @param id by which that engine names the blocks
   * @param rank the rank of that engine that has them; −1 when the id says enough
   * @param blocks what the request says of block ids, to be compared; null when it says nothing
   * @param maxTokens tokens to be had there at most
   * @param timeout how long the other may take to have them; zero when it must have them already
   * @param heartbeatInterval how often the other is told that they are still wanted; zero for never
   * @param firstTokens what the other has generated already and this one has to repeat
   * @param releasesOnAbandon whether the other is told when they are no longer wanted
   */
  record Receive(
      String host,
      int port,
      @Nullable String engine,
      String id,
      int rank,
      @Nullable String blocks,
      int maxTokens,
      Duration timeout,
      Duration heartbeatInterval,
      int[] firstTokens,
      boolean releasesOnAbandon)
      implements TransferSpec {}
}
