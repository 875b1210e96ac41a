package io.kvasir.lmcache;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The controller's workers, summed up by instance. A rank that has sent heartbeats and stopped no longer counts: its
 * engine has ended and the controller keeps its keys. A rank that never sent any (they are off by default) always
 * counts. Ages are measured by this process's clock, from when a heartbeat was first seen, and for a rank that is new
 * by how far its heartbeat is behind the latest of all; the controller's clock need not agree with this one.
 *
 * <p>Not thread-safe; callers hand in the time, in nanoseconds.
 */
final class Instances {
  /** In seconds: a heartbeat this soon after the registration is the registration itself. */
  private static final double REGISTRATION_SECONDS = 1;

  private final long staleNanos;
  private Map<InstanceRank, LastHeartbeat> heartbeats = new HashMap<>();

  private record InstanceRank(String instance, long rank) {}

  /**
   * The latest heartbeat of a rank.
   *
   * @param controllerSeconds its time by the controller's clock
   * @param sinceNanos its time by this process's clock
   * @param sent whether the rank sends heartbeats at all
   */
  private record LastHeartbeat(double controllerSeconds, long sinceNanos, boolean sent) {}

  /**
   * One engine's LMCache.
   *
   * @param id its id
   * @param keys chunks that its ranks hold together, without stale ranks
   * @param ranks how many ranks are registered
   * @param stale how many of them send no heartbeats any more
   * @param alive whether any rank sends heartbeats
   * @param ageNanos age of the latest heartbeat of a rank, 0 where none sends any
   * @param addresses of the ranks
   */
  record Instance(
      String id, long keys, int ranks, int stale, boolean alive, long ageNanos, List<String> addresses) {
    /** Whether all its ranks are stale. */
    boolean isStale() {
      return stale == ranks;
    }
  }

  /** No instances yet. A rank becomes stale {@code staleNanos} after its latest heartbeat. */
  Instances(long staleNanos) {
    this.staleNanos = staleNanos;
  }

  /** Sums up the rows of a poll that ended at {@code now}, by instance id. */
  SequencedMap<String, Instance> of(List<ControllerWorker> rows, long now) {
    double latest = rows.stream().mapToDouble(ControllerWorker::lastHeartbeat).max().orElse(0);
    Map<InstanceRank, LastHeartbeat> seen = new HashMap<>();
    SequencedMap<String, List<ControllerWorker>> byInstance = new TreeMap<>();
    for (ControllerWorker row : rows) {
      InstanceRank rank = new InstanceRank(row.instance(), row.rank());
      seen.put(rank, heartbeat(row, heartbeats.get(rank), latest, now));
      byInstance.computeIfAbsent(row.instance(), _ -> new ArrayList<>()).add(row);
    }
    heartbeats = seen;
    SequencedMap<String, Instance> instances = new TreeMap<>();
    byInstance.forEach((id, ranks) -> instances.put(id, sum(id, ranks, now)));
    return instances;
  }

  private static LastHeartbeat heartbeat(
      ControllerWorker row, @Nullable LastHeartbeat before, double latest, long now) {
    double last = row.lastHeartbeat();
    boolean sent = last > row.registered() + REGISTRATION_SECONDS;
    if (before == null) {
      return new LastHeartbeat(last, now - (long) (1e9 * (latest - last)), sent);
    }
    return last == before.controllerSeconds
        ? new LastHeartbeat(last, before.sinceNanos, before.sent || sent)
        : new LastHeartbeat(last, now, true);
  }

  private Instance sum(String id, List<ControllerWorker> ranks, long now) {
    long keys = 0;
    int stale = 0;
    boolean alive = false;
    long age = Long.MAX_VALUE;
    for (ControllerWorker row : ranks) {
      LastHeartbeat heartbeat = heartbeats.get(new InstanceRank(id, row.rank()));
      boolean sent = heartbeat != null && heartbeat.sent;
      long since = heartbeat == null ? 0 : now - heartbeat.sinceNanos;
      if (sent && since > staleNanos) {
        stale++;
      } else {
        keys += row.keys();
      }
      alive |= sent;
      age = sent ? Math.min(age, since) : age;
    }
    List<String> addresses =
        List.copyOf(new TreeSet<>(ranks.stream().map(ControllerWorker::ip).filter(ip -> !ip.isEmpty()).toList()));
    return new Instance(id, keys, ranks.size(), stale, alive, alive ? age : 0, addresses);
  }
}
