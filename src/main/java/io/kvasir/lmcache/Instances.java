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
 * What the controller says of its workers, summed up by instance. A worker that has sent heartbeats and stopped counts
 * no more: its engine is gone and the controller keeps its keys. One that never sent any (they are off by default) is
 * taken at its word. Ages are measured by this process's clock, from when a heartbeat was first seen, and where a
 * worker is new here by how far it is behind the latest heartbeat of all; the controller's clock may be any other.
 *
 * <p>One thread at a time; time comes in.
 */
final class Instances {
  /** In seconds: registering counts as a heartbeat. */
  private static final double REGISTERING = 1;

  private final long staleNanos;
  private Map<InstanceRank, LastHeartbeat> beats = new HashMap<>();

  private record InstanceRank(String instance, long rank) {}

  private record LastHeartbeat(double last, long sinceNanos, boolean alive) {}

  /**
   * One engine's LMCache.
   *
   * @param id its id
   * @param keys chunks that its ranks hold together, without those that have stopped beating
   * @param ranks how many ranks there are
   * @param stale how many of them have stopped beating
   * @param alive whether any rank sends heartbeats
   * @param ageNanos how long ago the latest heartbeat of a rank came, 0 where none sends any
   * @param addresses where the ranks are
   */
  record Instance(
      String id, long keys, int ranks, int stale, boolean alive, long ageNanos, List<String> addresses) {
    /** Whether nothing of it counts. */
    boolean isStale() {
      return stale == ranks;
    }
  }

  /** Counts ranks that have not beaten for {@code staleNanos} no longer. */
  Instances(long staleNanos) {
    this.staleNanos = staleNanos;
  }

  /** Sums up an answer that came at {@code now}. */
  SequencedMap<String, Instance> of(List<ControllerWorker> rows, long now) {
    double latest = rows.stream().mapToDouble(ControllerWorker::lastBeat).max().orElse(0);
    Map<InstanceRank, LastHeartbeat> seen = new HashMap<>();
    SequencedMap<String, List<ControllerWorker>> byInstance = new TreeMap<>();
    for (ControllerWorker row : rows) {
      InstanceRank rank = new InstanceRank(row.instance(), row.rank());
      seen.put(rank, beat(row, beats.get(rank), latest, now));
      byInstance.computeIfAbsent(row.instance(), _ -> new ArrayList<>()).add(row);
    }
    beats = seen;
    SequencedMap<String, Instance> instances = new TreeMap<>();
    byInstance.forEach((id, ranks) -> instances.put(id, sum(id, ranks, now)));
    return instances;
  }

  private static LastHeartbeat beat(ControllerWorker row, @Nullable LastHeartbeat before, double latest, long now) {
    boolean beats = row.lastBeat() > row.registered() + REGISTERING;
    if (before == null) {
      return new LastHeartbeat(row.lastBeat(), now - (long) (1e9 * (latest - row.lastBeat())), beats);
    }
    return row.lastBeat() == before.last
        ? new LastHeartbeat(before.last, before.sinceNanos, before.alive || beats)
        : new LastHeartbeat(row.lastBeat(), now, true);
  }

  private Instance sum(String id, List<ControllerWorker> ranks, long now) {
    long keys = 0;
    int stale = 0;
    boolean beating = false;
    long age = Long.MAX_VALUE;
    for (ControllerWorker row : ranks) {
      LastHeartbeat beat = beats.get(new InstanceRank(id, row.rank()));
      boolean beats = beat != null && beat.alive;
      long since = beat == null ? 0 : now - beat.sinceNanos;
      if (beats && since > staleNanos) {
        stale++;
      } else {
        keys += row.keys();
      }
      beating |= beats;
      age = beats ? Math.min(age, since) : age;
    }
    List<String> addresses =
        List.copyOf(new TreeSet<>(ranks.stream().map(ControllerWorker::ip).filter(ip -> !ip.isEmpty()).toList()));
    return new Instance(id, keys, ranks.size(), stale, beating, beating ? age : 0, addresses);
  }
}
