package io.kvasir.cell.view;

import io.kvasir.cell.RetentionRelease;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The pods whose engines retain what a program has used, so that each is told when it need not any more: when the
 * program went on elsewhere, or is not expected back. As many programs as the guard remembers. Thread-safe; nothing
 * waits for an engine.
 */
final class RetainedPrograms {
  private final RetentionRelease engines;
  private final ProgramMetrics metrics;
  private final Map<String, Map<URI, Retained>> programs = new ConcurrentHashMap<>();

  /** None yet. */
  RetainedPrograms(RetentionRelease engines, ProgramMetrics metrics) {
    this.engines = engines;
    this.metrics = metrics;
  }

  /** What a pod retains of a program; read and written by the map's {@code compute} alone. */
  private static final class Retained {
    private final Retention how;
    private int turns;

    private Retained(Retention retention) {
      this.how = retention;
    }
  }

  private record Release(URI pod, Retention retention) {}

  /** A turn of a program goes to a worker. */
  void began(String program, Worker worker) {
    if (worker.retention() != Retention.NONE) {
      programs.compute(program, (_, known) -> {
        Map<URI, Retained> pods = known == null ? HashMap.newHashMap(1) : known;
        pods.computeIfAbsent(worker.url(), _ -> new Retained(worker.retention())).turns++;
        return pods;
      });
    }
  }

  /**
   * It is over.
   *
   * @param generated whether its engine has answered: then that has what the program needs next, and others need not
   */
  void ended(String program, Worker worker, boolean generated) {
    List<Release> releases = new ArrayList<>(0);
    programs.computeIfPresent(program, (_, pods) -> {
      Retained its = pods.get(worker.url());
      if (its != null) {
        its.turns = Math.max(0, its.turns - 1);
      }
      Iterator<Map.Entry<URI, Retained>> all = pods.entrySet().iterator();
      while (generated && all.hasNext()) {
        Map.Entry<URI, Retained> other = all.next();
        if (!other.getKey().equals(worker.url()) && other.getValue().turns == 0) {
          releases.add(new Release(other.getKey(), other.getValue().how));
          all.remove();
        }
      }
      return pods.isEmpty() ? null : pods;
    });
    releases.forEach(each -> release(each, program));
  }

  /** A program is not expected back. */
  void left(String program) {
    List<Release> releases = new ArrayList<>(1);
    programs.computeIfPresent(program, (_, pods) -> {
      pods.forEach((pod, retained) -> releases.add(new Release(pod, retained.how)));
      return null;
    });
    releases.forEach(each -> release(each, program));
  }

  /** None is known here from now on: the cell has left this node. */
  void leaveAll() {
    List.copyOf(programs.keySet()).forEach(this::left);
  }

  /** How many there are. */
  int count() {
    return programs.size();
  }

  private void release(Release release, String program) {
    var _ = engines.release(release.pod, release.retention, program)
        .whenComplete((agreed, _) -> metrics.released(Boolean.TRUE.equals(agreed)));
  }
}
