package io.kvasir.enginemodel;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The keys of cached blocks that sessions have used, which are evicted after all others while a session has them. A
 * session that is never ended is known as long as any of its blocks is cached.
 */
final class KeptKeys {
  private final Map<String, Set<Long>> ofSession = new HashMap<>();

  /** The sessions that have a key, at least one. */
  private final Map<Long, Set<String>> sessions = new HashMap<>();

  /** Whether a session has a key. */
  boolean has(long key) {
    return sessions.containsKey(key);
  }

  /** A session has used a key's blocks; returns whether none had before. */
  boolean add(String session, long key) {
    ofSession.computeIfAbsent(session, _ -> new LinkedHashSet<>()).add(key);
    Set<String> its = sessions.computeIfAbsent(key, _ -> new HashSet<>());
    return its.add(session) && its.size() == 1;
  }

  /** A session is over; returns the keys that none has now, as it had used them. */
  List<Long> end(String session) {
    List<Long> free = new ArrayList<>();
    Set<Long> keys = ofSession.remove(session);
    if (keys != null) {
      for (long key : keys) {
        if (remove(sessions, key, session)) {
          free.add(key);
        }
      }
    }
    return free;
  }

  /** A key's blocks are not cached any more: whoever computes them again does so for sessions of its own. */
  void forget(long key) {
    Set<String> its = sessions.remove(key);
    if (its != null) {
      its.forEach(session -> remove(ofSession, session, key));
    }
  }

  /** Removes one of several; returns whether it was the last one. */
  private static <K, V> boolean remove(Map<K, Set<V>> sets, K of, V one) {
    Set<V> set = sets.get(of);
    if (set == null) {
      return false;
    }
    set.remove(one);
    return set.isEmpty() && sets.remove(of, set);
  }

  /** Forgets all sessions. */
  void clear() {
    ofSession.clear();
    sessions.clear();
  }
}
