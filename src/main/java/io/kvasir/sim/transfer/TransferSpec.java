package io.kvasir.sim.transfer;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The KV transfer of one sequence. */
public sealed interface TransferSpec {
  /** The sequence is computed by this engine alone. */
  record NoTransfer() implements TransferSpec {}

  /**
   * The sequence's blocks are for another engine.
   *
   * @param id by which the other names them
   * @param rank the rank that has to compute them; −1 for any
   * @param keepOnStop whether they are kept, too, when the first token ends the answer
   * @param firstTokenOnly whether the engine stops after the first token by itself
   * @param awaitsReceiver whether nothing is computed before the other engine has requested the blocks
   */
  record Send(String id, int rank, boolean keepOnStop, boolean firstTokenOnly, boolean awaitsReceiver)
      implements TransferSpec {}

  /**
   * The sequence's first blocks are fetched from another engine.
   *
   * @param remote the blocks
   * @param maxTokens tokens to fetch at most
   * @param timeout how long the other engine may take to compute them; zero when it must have them already
   * @param heartbeatInterval interval at which the lease is renewed; zero for never
   * @param firstTokens tokens that the other engine generated already and this one repeats
   * @param releasesOnAbandon whether the other engine is notified when they are no longer needed
   */
  record Receive(
      RemoteBlocks remote,
      int maxTokens,
      Duration timeout,
      Duration heartbeatInterval,
      int[] firstTokens,
      boolean releasesOnAbandon)
      implements TransferSpec {}

  /**
   * The sequence's first blocks are copied from another engine's memory, as far as it has them.
   *
   * @param host where that engine's side channel is
   * @param port of the side channel
   */
  record Pull(String host, int port) implements TransferSpec {}

  /**
   * Blocks that another engine has or will have.
   *
   * @param host where that engine's side channel is
   * @param port of the side channel
   * @param engine the engine's id as the request names it; null when it does not
   * @param id by which that engine names the blocks
   * @param rank the rank of that engine that has them; −1 when the id identifies it
   * @param blocks the request's block ids, to be compared; null when it has none
   */
  record RemoteBlocks(
      String host, int port, @Nullable String engine, String id, int rank, @Nullable String blocks) {}
}
