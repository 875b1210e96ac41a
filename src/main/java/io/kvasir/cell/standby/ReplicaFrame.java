package io.kvasir.cell.standby;

import io.kvasir.cell.ClusterMessage;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/**
 * A piece of what changes in one worker's blocks, on its way from a cell's home to a copy.
 *
 * @param home the incarnation of the home: another one's copy is another copy
 * @param slots workers the home's index has room for
 * @param worker its id
 * @param slot its slot there, and here
 * @param capacityBlocks blocks that may be predicted of it
 * @param stream which telling of the worker this belongs to; each begins with everything
 * @param number of the frame in the stream, from 0
 * @param finishes whether it is the last frame of a batch of events
 * @param payload as {@link ReplicaWriter} wrote it
 * @param groups changes of a hybrid model's groups, too; null from homes of earlier versions
 * @param replyTo receives how far the replica has come
 */
public record ReplicaFrame(
    long home,
    int slots,
    String worker,
    int slot,
    int capacityBlocks,
    long stream,
    long number,
    boolean finishes,
    byte[] payload,
    byte @Nullable [] groups,
    ActorRef<Standby.Acknowledged> replyTo)
    implements Standby.Message, ClusterMessage {}
