package io.kvasir.cell.events;

import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.StreamPosition;

/**
 * The position up to which a worker's events have been applied, and what was learned of its stream on the way. It goes
 * to the replicas with each batch.
 *
 * @param stream the last numbered message
 * @param blockSize tokens in a block as the events have it, 0 until one had it
 * @param prefixGroup the hybrid model's group that makes the prefix, {@link KvEvent#UNSPECIFIED} until one has shown
 *     itself
 * @param lost whether messages are missing for good
 * @param hybrid whether the engine has groups beside that one
 * @param onceComputed whether the engine shares a prompt's blocks only once it has computed them, as its last store
 *     shows
 * @param cut whether the blocks that are held are parts of the engine's
 */
public record AppliedPosition(
    StreamPosition stream, int blockSize, int prefixGroup, boolean lost, boolean hybrid, boolean onceComputed,
    boolean cut) {
  public static final AppliedPosition START =
      new AppliedPosition(
          new StreamPosition(KvBatch.UNSEQUENCED, 0), 0, KvEvent.UNSPECIFIED, false, false, false, false);
}
