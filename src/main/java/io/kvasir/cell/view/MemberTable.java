package io.kvasir.cell.view;

import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerLoad;
import io.kvasir.index.BlockIndex;
import io.kvasir.routing.Worker;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The index of a cell and the member in each of its slots. Immutable and replaced at each change, so that a decision
 * uses the same members from beginning to end.
 *
 * @param members by slot
 * @param workers the same as the table that candidates refer to
 * @param loads the same as a column of what is booked
 */
record MemberTable(
    BlockIndex index, @Nullable Member[] members, @Nullable Worker[] workers, @Nullable WorkerLoad[] loads) {

  /** A table whose slots are empty. */
  static MemberTable in(BlockIndex index) {
    int slots = index.slots();
    return new MemberTable(
        index, new @Nullable Member[slots], new @Nullable Worker[slots], new @Nullable WorkerLoad[slots]);
  }

  int slots() {
    return members.length;
  }

  /** The same with a member in a slot, or with that empty. */
  MemberTable with(int slot, @Nullable Member member) {
    @Nullable Member[] changedMembers = members.clone();
    @Nullable Worker[] changedWorkers = workers.clone();
    @Nullable WorkerLoad[] changedLoads = loads.clone();
    changedMembers[slot] = member;
    changedWorkers[slot] = member == null ? null : member.worker();
    changedLoads[slot] = member == null ? null : member.load();
    return new MemberTable(index, changedMembers, changedWorkers, changedLoads);
  }

  /** The same members in the same slots of a wider index. */
  MemberTable withIndex(BlockIndex wider) {
    int slots = wider.slots();
    return new MemberTable(
        wider, Arrays.copyOf(members, slots), Arrays.copyOf(workers, slots), Arrays.copyOf(loads, slots));
  }
}
