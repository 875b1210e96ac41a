package io.kvasir.cell.standby;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.WorkerBlocks;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The replica of a cell whose home is another node: an index of its own with the home's slots, fed frame by
 * frame. When the cell comes to this node the home takes the replica over, and is the only writer from then on.
 * Thread-safe.
 */
public final class CellReplica {
  private final long budgetBytes;
  private final Map<String, ReplicatedWorker> workers = new HashMap<>();
  private Set<String> reachable = Set.of();
  private @Nullable BlockIndex index;
  private long home;
  private boolean closed;

  /**
   * What a home begins with.
   *
   * @param workers by id; those whose snapshot was not whole are not among them, and their slots are free
   * @param reachable pods that could be reached
   */
  public record WarmState(BlockIndex index, Map<String, ReplicatedWorker> workers, Set<String> reachable) {}

  /** How far a worker's stream has come here: what is expected next, and whether something before it is missing. */
  record ReceivedUpTo(long stream, long next, boolean missing) {}

  /** An empty copy. */
  public CellReplica(long budgetBytes) {
    this.budgetBytes = budgetBytes;
  }

  /** Applies a frame; returns how far its stream has come, null when the sender has no use for that. */
  synchronized @Nullable ReceivedUpTo receive(ReplicaFrame frame) {
    if (closed) {
      return null;
    }
    ReplicatedWorker worker = workers.get(frame.worker());
    if (worker == null || worker.stream() != frame.stream() || frame.home() != home) {
      if (frame.number() != 0) {
        return new ReceivedUpTo(frame.stream(), 0, true);
      }
      worker = begin(frame);
    }
    if (frame.number() == worker.next()) {
      worker.receive(frame);
    }
    return new ReceivedUpTo(worker.stream(), worker.next(), frame.number() > worker.next());
  }

  private ReplicatedWorker begin(ReplicaFrame frame) {
    BlockIndex into = index;
    if (into == null || frame.home() != home || frame.slots() > into.slots()) {
      // Of another home, or wider: a new snapshot of all workers follows.
      workers.clear();
      into = new BlockIndex(frame.slots(), budgetBytes);
      index = into;
      home = frame.home();
    }
    for (Map.Entry<String, ReplicatedWorker> other : List.copyOf(workers.entrySet())) {
      if (other.getValue().slot() == frame.slot() || other.getKey().equals(frame.worker())) {
        release(into, other.getKey());
      }
    }
    WorkerBlocks blocks = into.open(frame.slot(), frame.capacityBlocks());
    ReplicatedWorker worker = new ReplicatedWorker(frame.slot(), frame.capacityBlocks(), frame.stream(), blocks);
    workers.put(frame.worker(), worker);
    return worker;
  }

  /** A worker has left the cell, if this is still the one that is meant. */
  synchronized void removeWorker(String id, long stream) {
    ReplicatedWorker worker = workers.get(id);
    BlockIndex from = index;
    if (!closed && from != null && worker != null && worker.stream() == stream) {
      release(from, id);
    }
  }

  private void release(BlockIndex from, String id) {
    ReplicatedWorker worker = workers.remove(id);
    if (worker != null) {
      from.retire(worker.slot());
      from.sweep(worker.slot());
    }
  }

  /** The pods that can be reached. */
  synchronized void setReachable(Set<String> pods) {
    reachable = Set.copyOf(pods);
  }

  /** Ends the copy; returns what there is to begin with, null if there is nothing. */
  synchronized @Nullable WarmState takeOver() {
    BlockIndex taken = index;
    if (closed || taken == null) {
      return null;
    }
    closed = true;
    for (Map.Entry<String, ReplicatedWorker> worker : List.copyOf(workers.entrySet())) {
      if (!worker.getValue().isComplete()) {
        release(taken, worker.getKey());
      }
    }
    return new WarmState(taken, Map.copyOf(workers), reachable);
  }

  /** Ends the copy for good. */
  synchronized void close() {
    closed = true;
    index = null;
    workers.clear();
  }

  /** Workers that could be taken over. */
  synchronized int warmWorkers() {
    return (int) workers.values().stream().filter(ReplicatedWorker::isComplete).count();
  }
}
