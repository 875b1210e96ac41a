package io.kvasir.http.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Idle connections, per pod. The one used last is taken first, so that what is not needed grows old and is
 * closed. A pod's entry lives in the map's own lock and vanishes with its last connection. Thread-safe.
 */
final class IdlePool {
  private final ConcurrentHashMap<PodOrigin, ArrayDeque<PodConnection>> idle = new ConcurrentHashMap<>();
  private final int perPod;
  private final long keepNanos;

  IdlePool(int perPod, long keepNanos) {
    this.perPod = perPod;
    this.keepNanos = keepNanos;
  }

  @Nullable PodConnection acquire(PodOrigin origin, long now) {
    PodConnection[] taken = new PodConnection[1];
    List<PodConnection> old = new ArrayList<>(0);
    idle.computeIfPresent(
        origin,
        (key, stack) -> {
          PodConnection last = stack.pollLast();
          if (last != null && now - last.idleSince() > keepNanos) {
            // The last is too old, so all are.
            old.add(last);
            old.addAll(stack);
            return null;
          }
          taken[0] = last;
          return stack.isEmpty() ? null : stack;
        });
    old.forEach(PodConnection::close);
    return taken[0];
  }

  void release(PodConnection connection, long now) {
    connection.idleSince(now);
    PodConnection[] surplus = new PodConnection[1];
    idle.compute(
        connection.origin(),
        (key, known) -> {
          ArrayDeque<PodConnection> stack = known == null ? new ArrayDeque<>() : known;
          if (stack.size() >= perPod) {
            surplus[0] = stack.pollFirst();
          }
          stack.addLast(connection);
          return stack;
        });
    if (surplus[0] != null) {
      surplus[0].close();
    }
  }

  void expire(long now) {
    List<PodConnection> old = new ArrayList<>(0);
    for (PodOrigin origin : idle.keySet()) {
      idle.computeIfPresent(
          origin,
          (key, stack) -> {
            while (!stack.isEmpty() && now - stack.getFirst().idleSince() > keepNanos) {
              old.add(stack.removeFirst());
            }
            return stack.isEmpty() ? null : stack;
          });
    }
    old.forEach(PodConnection::close);
  }

  void close() {
    for (PodOrigin origin : idle.keySet()) {
      ArrayDeque<PodConnection> stack = idle.remove(origin);
      if (stack != null) {
        stack.forEach(PodConnection::close);
      }
    }
  }
}
