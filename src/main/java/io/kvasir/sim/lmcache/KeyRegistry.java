package io.kvasir.sim.lmcache;

import io.kvasir.sim.lmcache.ControllerMessage.Command;
import io.kvasir.sim.lmcache.RegisteredWorker.WorkerAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.DoubleSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An LMCache controller's registry: which workers hold which chunk. Its rules are the real one's, oddities included: a
 * chunk is attributed to one holder only, the instance that registered first; a worker that registers again is taken to
 * be empty; chunks of a worker that never registered are not noted; a worker that falls silent keeps its chunks; the
 * list of all workers may be old. Model, LoRA and salt are unknown here. Thread-safe.
 */
final class KeyRegistry {
  /** Tokens of a chunk; fixed in the controller, whatever its workers use. */
  static final int CHUNK_TOKENS = 256;

  /** Share of workers whose chunks must be known before a restarted controller requests no more reports. */
  private static final double SYNC_QUORUM = 0.8;

  private final DoubleSupplier clock;
  private final double listAge;
  private final long noneHash;
  /** Instances in the order in which they registered, each with its workers by rank. */
  private final Map<String, SortedMap<Integer, RegisteredWorker>> instances = new LinkedHashMap<>();
  private boolean restarted = true;
  private List<WorkerSnapshot> listed = List.of();
  private double listedAt = Double.NEGATIVE_INFINITY;

  /** How far a prompt is held, and where. */
  record PrefixMatch(String location, int tokens) {}

  /** A worker and what it holds. */
  record WorkerSnapshot(WorkerAddress address, double registeredAt, double lastHeartbeat, int keys) {}

  /**
   * An empty registry.
   *
   * @param clock Unix seconds
   * @param listAge how many seconds old the list of all workers may be
   * @param noneHash what the names of chunks begin from
   */
  KeyRegistry(DoubleSupplier clock, double listAge, long noneHash) {
    this.clock = clock;
    this.listAge = listAge;
    this.noneHash = noneHash;
  }

  /**
   * Who holds the prompt's leading chunks, the last of which may be shorter: each chunk is attributed to one instance,
   * and an instance is reported with the end of the last chunk attributed to it.
   */
  synchronized Map<String, PrefixMatch> lookup(int[] tokens) {
    Map<String, PrefixMatch> layout = new LinkedHashMap<>();
    long key = noneHash;
    for (int from = 0; from < tokens.length; from += CHUNK_TOKENS) {
      int to = Math.min(from + CHUNK_TOKENS, tokens.length);
      key = ChunkHashes.next(key, tokens, from, to);
      if (!attribute(key, to, layout)) {
        break;
      }
    }
    return layout;
  }

  /** Leading tokens that {@code instance} holds at {@code location}. */
  synchronized int heldTokens(String instance, String location, int[] tokens) {
    long key = noneHash;
    int held = 0;
    for (int from = 0; from < tokens.length; from += CHUNK_TOKENS) {
      int to = Math.min(from + CHUNK_TOKENS, tokens.length);
      long next = ChunkHashes.next(key, tokens, from, to);
      if (workers(instance).stream().noneMatch(worker -> worker.holds(location, next))) {
        break;
      }
      key = next;
      held = to;
    }
    return held;
  }

  /** All workers of {@code instance}, or of all instances when it is null. */
  synchronized List<WorkerSnapshot> list(@Nullable String instance) {
    return (instance == null
            ? instances.values().stream().flatMap(workers -> workers.values().stream()).toList()
            : workers(instance))
        .stream()
            .map(worker ->
                new WorkerSnapshot(worker.address(), worker.registeredAt(), worker.lastHeartbeat(), worker.keyCount()))
            .toList();
  }

  /**
   * All workers with the heartbeats of when the list was last made, which may be a while ago, also when it was empty
   * then; what they hold is counted now.
   */
  synchronized List<WorkerSnapshot> listedWorkers() {
    double now = clock.getAsDouble();
    if (now - listedAt >= listAge) {
      listed = list(null);
      listedAt = now;
    }
    return listed.stream().map(this::refreshed).toList();
  }

  private WorkerSnapshot refreshed(WorkerSnapshot then) {
    RegisteredWorker worker = worker(then.address().instance(), then.address().worker());
    return new WorkerSnapshot(then.address(), then.registeredAt(), then.lastHeartbeat(), worker == null ? 0
        : worker.keyCount());
  }

  /** The first instance with a worker at {@code ip}, or null. */
  synchronized @Nullable String instanceAt(String ip) {
    return list(null).stream()
        .filter(worker -> worker.address().ip().equals(ip))
        .map(worker -> worker.address().instance())
        .findFirst()
        .orElse(null);
  }

  /** Takes a worker in; one that is known already loses its chunks. */
  synchronized void register(WorkerAddress place) {
    RegisteredWorker known = worker(place.instance(), place.worker());
    if (known != null) {
      known.clearKeys();
      return;
    }
    instances
        .computeIfAbsent(place.instance(), instance -> new TreeMap<>())
        .put(place.worker(), new RegisteredWorker(place, clock.getAsDouble()));
  }

  synchronized void deregister(String instance, int worker) {
    SortedMap<Integer, RegisteredWorker> workers = instances.get(instance);
    if (workers != null && workers.remove(worker) != null && workers.isEmpty()) {
      instances.remove(instance);
    }
  }

  /** Records a heartbeat and returns the commands for the worker. An unknown worker is registered. */
  synchronized List<Command> heartbeat(WorkerAddress place) {
    RegisteredWorker worker = worker(place.instance(), place.worker());
    if (worker == null) {
      register(place);
      return List.of(sync("worker_re_registered"));
    }
    worker.heartbeat(clock.getAsDouble());
    return restarted && worker.neverSynced() ? List.of(sync("controller_restart")) : List.of();
  }

  synchronized void apply(ControllerMessage.Operations operations) {
    RegisteredWorker worker = worker(operations.instanceId(), operations.workerId());
    if (worker != null) {
      worker.apply(operations.location(), operations.operations());
    }
  }

  synchronized ControllerMessage.SyncStarted startSync(ControllerMessage.SyncStart start) {
    RegisteredWorker worker = worker(start.instanceId(), start.workerId());
    return worker == null
        ? new ControllerMessage.SyncStarted(start.syncId(), false, "Failed to start sync: worker not found")
        : worker.startSync(start);
  }

  synchronized void applySyncBatch(ControllerMessage.SyncBatch batch) {
    RegisteredWorker worker = worker(batch.instanceId(), batch.workerId());
    if (worker != null) {
      worker.applySyncBatch(batch);
    }
  }

  synchronized void endSync(ControllerMessage.SyncEnd end) {
    RegisteredWorker worker = worker(end.instanceId(), end.workerId());
    if (worker != null) {
      worker.endSync(end);
    }
  }

  synchronized ControllerMessage.SyncStatus syncStatus(ControllerMessage.SyncQuery query) {
    long ready = count(RegisteredWorker::isUpToDate);
    long all = count(worker -> true);
    double progress = all == 0 ? 0 : (double) ready / all;
    boolean enough = progress >= SYNC_QUORUM;
    restarted &= !enough;
    RegisteredWorker worker = worker(query.instanceId(), query.workerId());
    return new ControllerMessage.SyncStatus(
        query.syncId(), worker != null && worker.isSyncComplete(query.syncId()), progress, enough,
        worker == null ? List.of() : worker.missingBatches(query.syncId()));
  }

  /** Attributes a chunk that ends at {@code end} to its first holder; false when there is none. */
  private boolean attribute(long key, int end, Map<String, PrefixMatch> layout) {
    for (Map.Entry<String, SortedMap<Integer, RegisteredWorker>> instance : instances.entrySet()) {
      for (RegisteredWorker worker : instance.getValue().values()) {
        String location = worker.locationOf(key);
        if (location != null) {
          layout.put(instance.getKey(), new PrefixMatch(location, end));
          return true;
        }
      }
    }
    return false;
  }

  private long count(Predicate<RegisteredWorker> which) {
    return instances.values().stream()
        .flatMap(workers -> workers.values().stream())
        .filter(which)
        .count();
  }

  private List<RegisteredWorker> workers(String instance) {
    SortedMap<Integer, RegisteredWorker> workers = instances.get(instance);
    return workers == null ? List.of() : new ArrayList<>(workers.values());
  }

  private @Nullable RegisteredWorker worker(String instance, int worker) {
    SortedMap<Integer, RegisteredWorker> workers = instances.get(instance);
    return workers == null ? null : workers.get(worker);
  }

  private static Command sync(String reason) {
    return new Command(Command.FULL_SYNC, reason, null);
  }
}
