package io.kvasir.cell.standby;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.WorkerBlocks;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The warm copy of a cell that is at home on another node: an index of its own with the home's slots, fed frame by
 * frame. When the cell comes to this node its home takes the copy over, and from then on nobody else writes into it.
 * Thread-safe.
 */
public final class CellCopy {
  private final long budgetBytes;
  private final Map<String, CopiedWorker> workers = new HashMap<>();
  private Set<String> well = Set.of();
  private @Nullable BlockIndex index;
  private long home;
  private boolean over;

  /**
   * What a home begins with.
   *
   * @param workers by id; those that had not been told as a whole are not among them, and their slots are free
   * @param well pods that could be reached
   */
  public record Taken(BlockIndex index, Map<String, CopiedWorker> workers, Set<String> well) {}

  /** How far a worker's stream has come here: what is expected next, and whether something before it is missing. */
  record Come(long stream, long next, boolean missing) {}

  /** An empty copy. */
  public CellCopy(long budgetBytes) {
    this.budgetBytes = budgetBytes;
  }

  /** Takes a frame, and tells how far its stream has come; null when that is of no use to anybody. */
  synchronized @Nullable Come take(CopyFrame frame) {
    if (over) {
      return null;
    }
    CopiedWorker worker = workers.get(frame.worker());
    if (worker == null || worker.stream() != frame.stream() || frame.home() != home) {
      if (frame.number() != 0) {
        return new Come(frame.stream(), 0, true);
      }
      worker = begin(frame);
    }
    if (frame.number() == worker.next()) {
      worker.take(frame);
    }
    return new Come(worker.stream(), worker.next(), frame.number() > worker.next());
  }

  private CopiedWorker begin(CopyFrame frame) {
    BlockIndex into = index;
    if (into == null || frame.home() != home || frame.slots() > into.slots()) {
      // Of another home, or wider: all workers will be told anew.
      workers.clear();
      into = new BlockIndex(frame.slots(), budgetBytes);
      index = into;
      home = frame.home();
    }
    for (Map.Entry<String, CopiedWorker> other : List.copyOf(workers.entrySet())) {
      if (other.getValue().slot() == frame.slot() || other.getKey().equals(frame.worker())) {
        leave(into, other.getKey());
      }
    }
    WorkerBlocks blocks = into.open(frame.slot(), frame.capacityBlocks());
    CopiedWorker worker = new CopiedWorker(frame.slot(), frame.capacityBlocks(), frame.stream(), blocks);
    workers.put(frame.worker(), worker);
    return worker;
  }

  /** A worker has left the cell, if this is still the one that is meant. */
  synchronized void left(String id, long stream) {
    CopiedWorker worker = workers.get(id);
    BlockIndex from = index;
    if (!over && from != null && worker != null && worker.stream() == stream) {
      leave(from, id);
    }
  }

  private void leave(BlockIndex from, String id) {
    CopiedWorker worker = workers.remove(id);
    if (worker != null) {
      from.retire(worker.slot());
      from.sweep(worker.slot());
    }
  }

  /** The pods that can be reached. */
  synchronized void well(Set<String> pods) {
    well = Set.copyOf(pods);
  }

  /** Ends the copy; returns what there is to begin with, null if there is nothing. */
  synchronized @Nullable Taken takeOver() {
    BlockIndex taken = index;
    if (over || taken == null) {
      return null;
    }
    over = true;
    for (Map.Entry<String, CopiedWorker> worker : List.copyOf(workers.entrySet())) {
      if (!worker.getValue().whole()) {
        leave(taken, worker.getKey());
      }
    }
    return new Taken(taken, Map.copyOf(workers), well);
  }

  /** Ends the copy for good. */
  synchronized void close() {
    over = true;
    index = null;
    workers.clear();
  }

  /** Workers that could be taken over. */
  synchronized int warm() {
    return (int) workers.values().stream().filter(CopiedWorker::whole).count();
  }
}
