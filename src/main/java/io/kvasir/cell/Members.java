package io.kvasir.cell;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.Worker;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * A cell's workers in their slots, and the index they share. Changed by the cell's actor alone; the
 * {@link CellView} reads it from any thread. A slot is free again only after the sweep of the worker
 * that had it.
 */
final class Members {
  private final CellServices services;
  private final BlockIndex index;
  private final boolean[] taken;
  private final CellView view;
  private final Member.OnEnd onEnd = new Ends();

  Members(String cell, CellServices services) {
    this.services = services;
    int slots = services.settings().slots();
    this.index = new BlockIndex(slots, services.settings().indexBudgetBytes());
    this.taken = new boolean[slots];
    this.view = new CellView(cell, index, services);
  }

  CellView view() {
    return view;
  }

  List<Member> all() {
    return Stream.of(view.members()).filter(Objects::nonNull).toList();
  }

  /** Gives slots to those ranks of a pod that have none yet, as far as there are free ones. */
  List<Member> admit(PodEntry pod) {
    List<Member> admitted = new ArrayList<>();
    for (int rank = 0; rank < pod.spec().ranks(); rank++) {
      String id = workerId(pod.spec(), rank);
      int slot = freeSlot();
      if (slot < 0 || all().stream().anyMatch(member -> member.worker().id().equals(id))) {
        continue;
      }
      taken[slot] = true;
      WorkerBlocks blocks = index.open(slot, pod.spec().capacityBlocks());
      Member member =
          new Member(
              worker(pod.spec(), id, rank, slot),
              pod,
              new WorkerHealth(services.settings().health()),
              blocks,
              services.settings(),
              services.nanos(),
              onEnd);
      view.seat(slot, member);
      admitted.add(member);
    }
    return admitted;
  }

  /** Takes a worker out of every decision and search at once; its slot stays taken until the sweep. */
  void retire(Member member) {
    int slot = member.worker().slot();
    view.seat(slot, null);
    index.retire(slot);
  }

  /** Clears what the retired worker of a slot held. Takes time; called off the actor. */
  void sweep(int slot) {
    index.sweep(slot);
  }

  void free(int slot) {
    taken[slot] = false;
  }

  /** Ends the cell on this node: nothing more is decided here. */
  void close() {
    all().forEach(member -> view.seat(member.worker().slot(), null));
  }

  private final class Ends implements Member.OnEnd {
    @Override
    public void ended(Member member, String model, Outcome outcome) {
      services.metrics().ended(member, outcome);
      services.profiles().ended(model, outcome);
    }

    @Override
    public void answered(Member member, int promised, int found, boolean broken) {
      services.metrics().answered(member, promised, found, broken);
    }
  }

  private int freeSlot() {
    for (int slot = 0; slot < taken.length; slot++) {
      if (!taken[slot]) {
        return slot;
      }
    }
    return -1;
  }

  private static String workerId(PodSpec pod, int rank) {
    return pod.ranks() == 1 ? pod.name() : pod.name() + "#" + rank;
  }

  private static Worker worker(PodSpec pod, String id, int rank, int slot) {
    return new Worker(
        id,
        pod.name(),
        pod.url(),
        rank,
        pod.ranks(),
        slot,
        pod.role(),
        pod.models(),
        pod.labels(),
        pod.maxInFlight(),
        pod.engine());
  }
}
