package io.kvasir.cell.home;

import io.kvasir.cell.worker.Member;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.WorkerBlocks;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The rebuilding of a cell's index into a wider one. Decisions are made from the narrow one meanwhile; each worker's
 * events actor hands over what its worker holds, and holds back its engine's events, until all have done so and the
 * cell decides from the wide one. Then the narrow one is dropped.
 *
 * <p>One thread at a time but for {@link #transferPredictions}: the cell's actor owns it.
 */
final class IndexResize {
  private final BlockIndex index;
  private final long startedNanos;
  private final Map<Member, WorkerBlocks> successors = new HashMap<>();
  private final Set<Member> handingOver = new HashSet<>();
  private boolean completing;

  IndexResize(BlockIndex index, long startedNanos) {
    this.index = index;
    this.startedNanos = startedNanos;
  }

  BlockIndex index() {
    return index;
  }

  long startedNanos() {
    return startedNanos;
  }

  /** Gives a member the slot it has in the narrow index. */
  WorkerBlocks open(Member member) {
    WorkerBlocks successor = index.open(member.worker().slot(), member.pod().engine().capacityBlocks());
    successors.put(member, successor);
    return successor;
  }

  Map<Member, WorkerBlocks> successors() {
    return successors;
  }

  /** Counts a member whose events actor has been requested to hand over. */
  void handOverRequested(Member member) {
    handingOver.add(member);
  }

  void handedOver(Member member) {
    handingOver.remove(member);
  }

  /** A member has left the cell. Its slot in the wide index is to be swept before that in the narrow one. */
  void memberRemoved(Member member) {
    handingOver.remove(member);
    if (successors.remove(member) != null) {
      index.retire(member.worker().slot());
    }
  }

  /** True once, when all have handed over: then it is time to {@link #transferPredictions}. */
  boolean tryComplete() {
    if (completing || !handingOver.isEmpty()) {
      return false;
    }
    completing = true;
    return true;
  }

  /** Whether it waits for members still. */
  boolean isWaiting() {
    return !completing;
  }

  /** Hands over the present and future predictions of these members. Takes time: called off the actor. */
  static void transferPredictions(Map<Member, WorkerBlocks> successors) {
    successors.forEach((member, successor) -> member.cache().blocks().succeededBy(successor));
  }
}
