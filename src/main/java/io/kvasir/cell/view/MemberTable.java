package io.kvasir.cell.view;

import io.kvasir.cell.CellLoad;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerLoad;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.routing.Worker;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The index of a cell and the member in each of its slots. Immutable and replaced at each change, so that a decision
 * uses the same members from beginning to end.
 *
 * @param members by slot
 * @param workers the same as the table that candidates refer to
 * @param loads the same as a column of what is booked
 * @param peers for each member a bit for each that could do what it does, itself included
 */
record MemberTable(
    BlockIndex index,
    @Nullable Member[] members,
    @Nullable Worker[] workers,
    @Nullable WorkerLoad[] loads,
    long[][] peers) {

  /** A table whose slots are empty. */
  static MemberTable in(BlockIndex index) {
    int slots = index.slots();
    return new MemberTable(
        index, new @Nullable Member[slots], new @Nullable Worker[slots], new @Nullable WorkerLoad[slots],
        new long[slots][slots >>> 6]);
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
    return new MemberTable(index, changedMembers, changedWorkers, changedLoads, peersWith(slot, member));
  }

  /** The same members in the same slots of a wider index. */
  MemberTable withIndex(BlockIndex wider) {
    int slots = wider.slots();
    return new MemberTable(
        wider, Arrays.copyOf(members, slots), Arrays.copyOf(workers, slots), Arrays.copyOf(loads, slots),
        widened(slots));
  }

  /** The load of a model's workers. */
  CellLoad load(String model) {
    int workers = 0;
    int routable = 0;
    int inFlight = 0;
    int maxInFlight = 0;
    for (Member member : members) {
      if (member != null && member.worker().models().contains(model)) {
        workers++;
        if (member.isRoutable()) {
          routable++;
          inFlight += member.load().inFlight();
          maxInFlight += member.worker().maxInFlight();
        }
      }
    }
    return new CellLoad(workers, routable, inFlight, maxInFlight);
  }

  /** Whether the health of every member is known since the cell came to this node; of none it is not. */
  boolean isHealthKnown() {
    boolean any = false;
    for (Member member : members) {
      if (member != null) {
        if (member.health().reachability().state() == WorkerStatus.Health.UNKNOWN) {
          return false;
        }
        any = true;
      }
    }
    return any;
  }

  /**
   * How far the workers of a model hold the beginnings of chains: for each chain, in their order, the depth of every
   * worker that holds its first block.
   */
  List<List<Integer>> heldPrefixes(String model, List<Chain> chains) {
    long[] serving = new long[slots() >>> 6];
    for (int slot = 0; slot < slots(); slot++) {
      Worker worker = workers[slot];
      if (worker != null && worker.models().contains(model)) {
        serving[slot >>> 6] |= 1L << slot;
      }
    }
    List<List<Integer>> held = new ArrayList<>(chains.size());
    for (Chain chain : chains) {
      int[] depths = new int[slots()];
      int _ = index.search(chain, serving, depths);
      held.add(Arrays.stream(depths).filter(depth -> depth > 0).boxed().toList());
    }
    return held;
  }

  private long[][] peersWith(int slot, @Nullable Member member) {
    long[][] changed = peers.clone();
    changed[slot] = new long[members.length >>> 6];
    for (int other = 0; other < members.length; other++) {
      Member present = other == slot ? member : members[other];
      if (present == null) {
        continue;
      }
      if (member != null && (other == slot || isPeer(present, member))) {
        changed[slot][other >>> 6] |= 1L << other;
      }
      if (other != slot) {
        changed[other] = changed[other].clone();
        changed[other][slot >>> 6] &= ~(1L << slot);
        if (member != null && isPeer(member, present)) {
          changed[other][slot >>> 6] |= 1L << slot;
        }
      }
    }
    return changed;
  }

  private static boolean isPeer(Member one, Member of) {
    return one.serves(of) || one.worker().pod().equals(of.worker().pod());
  }

  private long[][] widened(int slots) {
    long[][] wide = new long[slots][];
    for (int slot = 0; slot < slots; slot++) {
      wide[slot] = slot < peers.length ? Arrays.copyOf(peers[slot], slots >>> 6) : new long[slots >>> 6];
    }
    return wide;
  }
}
