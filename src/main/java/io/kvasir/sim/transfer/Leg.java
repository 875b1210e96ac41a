package io.kvasir.sim.transfer;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What one sequence has to do with another engine. */
public sealed interface Leg {
  /** Nothing. */
  record Alone() implements Leg {}

  /**
   * Its blocks are for another engine.
   *
   * @param id by which the other names them
   * @param rank the rank that has to compute them; −1 for any
   * @param onStop whether they are kept, too, when the first token ends the answer
   * @param firstTokenOnly whether the engine stops after the first token by itself
   * @param awaitsTaker whether nothing is computed before the other has asked
   */
  record Send(String id, int rank, boolean onStop, boolean firstTokenOnly, boolean awaitsTaker) implements Leg {}

  /**
   * Another engine has its first tokens.
   *
   * @param host where that engine's side channel is
   * @param port of the side channel
   * @param engine the engine's id as the request names it; null when it does not
   * @param id by which that engine names the blocks
   * @param rank the rank of that engine that has them; −1 when the id says enough
   * @param blocks what the request says of block ids, to be compared; null when it says nothing
   * @param most tokens to be had there at most
   * @param patience how long the other may take to have them; zero when it must have them already
   * @param beat how often the other is told that they are still wanted; zero for never
   * @param firstTokens what the other has generated already and this one has to repeat
   * @param abandons whether the other is told when they are no longer wanted
   */
  record Receive(
      String host,
      int port,
      @Nullable String engine,
      String id,
      int rank,
      @Nullable String blocks,
      int most,
      Duration patience,
      Duration beat,
      int[] firstTokens,
      boolean abandons)
      implements Leg {}
}
