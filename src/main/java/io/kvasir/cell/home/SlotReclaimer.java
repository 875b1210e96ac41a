package io.kvasir.cell.home;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/**
 * Clears what workers that have left held, and then gives their slots back: one sweep at a time, of all that have left
 * until then, since it passes through the whole index. The cell's actor's.
 */
final class SlotReclaimer {
  private final Members members;
  private final Executor background;
  private final Executor actor;
  private final Runnable onFreed;
  private final List<Members.Retired> waiting = new ArrayList<>();
  private boolean sweeping;

  /**
   * Nothing to sweep yet.
   *
   * @param turns runs what it is given on a turn of the cell's actor
   * @param swept runs there when slots have become free
   */
  SlotReclaimer(Members members, Executor background, Executor turns, Runnable swept) {
    this.members = members;
    this.background = background;
    this.actor = turns;
    this.onFreed = swept;
  }

  /** Nothing is written for a retired worker any more. */
  void add(Members.Retired worker) {
    waiting.add(worker);
    sweep();
  }

  private void sweep() {
    if (sweeping || waiting.isEmpty()) {
      return;
    }
    sweeping = true;
    List<Members.Retired> workers = List.copyOf(waiting);
    waiting.clear();
    background.execute(() -> {
      Members.sweep(workers);
      actor.execute(() -> done(workers));
    });
  }

  private void done(List<Members.Retired> workers) {
    workers.forEach(worker -> members.free(worker.slot()));
    sweeping = false;
    sweep();
    onFreed.run();
  }
}
