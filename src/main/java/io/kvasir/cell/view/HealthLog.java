package io.kvasir.cell.view;

import io.kvasir.cell.HealthChange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The last changes of the health of workers whose cells have their home on this node: a limited number in all, and of
 * each worker, so that one that comes and goes does not push out the others. Thread-safe.
 */
public final class HealthLog {
  /** Changes that are kept. */
  static final int MOST = 2000;

  /** Changes of one worker that are kept. */
  static final int MOST_OF_WORKER = 32;

  /** The latest last. Guarded by this, as what follows. */
  private final Deque<HealthChange> changes = new ArrayDeque<>();
  private final Map<String, Integer> counts = new HashMap<>();

  /** Adds a change. */
  public synchronized void add(HealthChange change) {
    changes.addLast(change);
    if (counts.merge(change.worker(), 1, Integer::sum) > MOST_OF_WORKER) {
      remove(changes.stream().filter(each -> each.worker().equals(change.worker())).findFirst().orElseThrow());
    }
    if (changes.size() > MOST) {
      remove(changes.getFirst());
    }
  }

  /** The latest that are wanted, newest first. */
  public synchronized List<HealthChange> latest(Predicate<HealthChange> wanted, int limit) {
    List<HealthChange> found = new ArrayList<>();
    for (var newest = changes.descendingIterator(); newest.hasNext() && found.size() < limit; ) {
      HealthChange change = newest.next();
      if (wanted.test(change)) {
        found.add(change);
      }
    }
    return found;
  }

  /** All that are kept, newest first. */
  public List<HealthChange> all() {
    return latest(_ -> true, Integer.MAX_VALUE);
  }

  /** The latest of a pod's workers, newest first. */
  public List<HealthChange> ofPod(String pod) {
    return latest(change -> change.pod().equals(pod), MOST_OF_WORKER);
  }

  private void remove(HealthChange change) {
    changes.removeFirstOccurrence(change);
    counts.computeIfPresent(change.worker(), (_, count) -> count == 1 ? null : count - 1);
  }
}
