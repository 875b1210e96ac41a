package io.kvasir.enginemodel;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The keys of blocks that sessions have used, which are evicted after all others while a session has them. */
final class KeptKeys {
  private final Map<String, Set<Long>> ofSession = new HashMap<>();

  /** How many sessions have a key. */
  private final Map<Long, Integer> sessions = new HashMap<>();

  /** Whether a session has a key. */
  boolean has(long key) {
    return sessions.containsKey(key);
  }

  /** A session has used a key's blocks; returns whether none had before. */
  boolean add(String session, long key) {
    return ofSession.computeIfAbsent(session, _ -> new LinkedHashSet<>()).add(key)
        && sessions.merge(key, 1, Integer::sum) == 1;
  }

  /** A session is over; returns the keys that none has now, as it had used them. */
  List<Long> end(String session) {
    List<Long> free = new ArrayList<>();
    Set<Long> keys = ofSession.remove(session);
    if (keys != null) {
      for (long key : keys) {
        if (sessions.merge(key, -1, KeptKeys::less) == null) {
          free.add(key);
        }
      }
    }
    return free;
  }

  @SuppressWarnings("NullAway") // null removes the entry
  private static Integer less(Integer count, Integer one) {
    return count + one == 0 ? null : count + one;
  }

  /** Forgets all sessions. */
  void clear() {
    ofSession.clear();
    sessions.clear();
  }
}
