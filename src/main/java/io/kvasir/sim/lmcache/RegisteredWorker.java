package io.kvasir.sim.lmcache;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A controller's record of one worker. Guarded by its {@link KeyRegistry}. */
final class RegisteredWorker {
  private final WorkerAddress address;
  private final double registeredAt;
  private double lastHeartbeat;
  /** Chunks by location; locations in the order in which they first held one. */
  private final Map<String, Set<Long>> keys = new LinkedHashMap<>();
  private @Nullable FullSync sync;

  /** Where a worker is: instance, tensor-parallel rank, address. */
  record WorkerAddress(String instance, int worker, String ip, int port, @Nullable String peer) {}

  /** The state of the worker's report of all its chunks. */
  private static final class FullSync {
    private final String id;
    private final int batches;
    private final Set<Integer> receivedBatches = new HashSet<>();
    private boolean complete;

    FullSync(String id, int batches) {
      this.id = id;
      this.batches = batches;
    }
  }

  RegisteredWorker(WorkerAddress place, double now) {
    this.address = place;
    registeredAt = now;
    lastHeartbeat = now;
  }

  WorkerAddress address() {
    return address;
  }

  /** When it registered, Unix seconds. */
  double registeredAt() {
    return registeredAt;
  }

  /** When its last heartbeat came, or it registered; Unix seconds. */
  double lastHeartbeat() {
    return lastHeartbeat;
  }

  void heartbeat(double now) {
    lastHeartbeat = now;
  }

  /** Chunks it holds, wherever. */
  int keyCount() {
    return keys.values().stream().mapToInt(Set::size).sum();
  }

  /** The first location that holds {@code key}, or null. */
  @Nullable String locationOf(long key) {
    for (Map.Entry<String, Set<Long>> location : keys.entrySet()) {
      if (location.getValue().contains(key)) {
        return location.getKey();
      }
    }
    return null;
  }

  boolean holds(String location, long key) {
    return keys.getOrDefault(location, Set.of()).contains(key);
  }

  void clearKeys() {
    keys.clear();
  }

  /** Applies what changed; refused during a report of all its chunks. */
  void apply(String location, List<ControllerMessage.Operation> operations) {
    if (sync == null || sync.complete) {
      operations.forEach(operation -> apply(location, operation));
    }
  }

  /** Whether no report of all its chunks has been made or begun. */
  boolean neverSynced() {
    return sync == null;
  }

  /** Whether what is known of it is all there is. */
  boolean isUpToDate() {
    return sync == null || sync.complete;
  }

  ControllerMessage.SyncStarted startSync(ControllerMessage.SyncStart start) {
    if (sync != null && !sync.complete && !sync.id.equals(start.syncId())) {
      return new ControllerMessage.SyncStarted(
          start.syncId(), false,
          "Failed to start sync: worker already syncing with different sync_id or worker not found");
    }
    sync = new FullSync(start.syncId(), start.batchCount());
    keys.remove(start.location());
    return new ControllerMessage.SyncStarted(start.syncId(), true, null);
  }

  void applySyncBatch(ControllerMessage.SyncBatch batch) {
    if (sync != null && !sync.complete && sync.id.equals(batch.syncId())) {
      sync.receivedBatches.add(batch.batchId());
      keys.computeIfAbsent(batch.location(), location -> new HashSet<>()).addAll(batch.keys());
    }
  }

  void endSync(ControllerMessage.SyncEnd end) {
    if (sync != null && sync.id.equals(end.syncId())) {
      sync.complete = true;
    }
  }

  /** Whether the sync named {@code id} is over. */
  boolean isSyncComplete(String id) {
    return sync != null && sync.id.equals(id) && sync.complete;
  }

  /** Batches of the sync named {@code id} that have not come. */
  List<Integer> missingBatches(String id) {
    List<Integer> missing = new ArrayList<>();
    if (sync != null && sync.id.equals(id) && !sync.complete) {
      for (int batch = 0; batch < sync.batches; batch++) {
        if (!sync.receivedBatches.contains(batch)) {
          missing.add(batch);
        }
      }
    }
    return missing;
  }

  private void apply(String location, ControllerMessage.Operation operation) {
    switch (operation.opType()) {
      case ADMIT -> keys.computeIfAbsent(location, there -> new HashSet<>()).add(operation.key());
      case EVICT -> {
        Set<Long> there = keys.get(location);
        if (there != null && there.remove(operation.key()) && there.isEmpty()) {
          keys.remove(location);
        }
      }
    }
  }
}
