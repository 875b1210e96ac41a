package io.kvasir.http.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Idle connections, per pod. Of those that suit the caller, or of all where none does, the one used last is taken
 * first, so that what is not needed grows old and is closed. A pod's entry lives in the map's own lock and vanishes
 * with its last connection. Thread-safe.
 */
final class IdlePool<C extends PodConnection> {
  private final ConcurrentHashMap<PodOrigin, ArrayDeque<C>> idle = new ConcurrentHashMap<>();
  private final int perPod;
  private final long keepNanos;
  private final Predicate<C> suits;

  /**
   * An empty pool.
   *
   * @param perPod how many connections are kept for each pod
   * @param keepNanos how long one is kept
   * @param suits whether a connection suits the calling thread; holds a lock
   */
  IdlePool(int perPod, long keepNanos, Predicate<C> suits) {
    this.perPod = perPod;
    this.keepNanos = keepNanos;
    this.suits = suits;
  }

  @Nullable C acquire(PodOrigin origin, long now) {
    Taken<C> taken = new Taken<>();
    idle.computeIfPresent(
        origin,
        (key, stack) -> {
          C last = stack.peekLast();
          if (last != null && now - last.idleSince() > keepNanos) {
            // The last is too old, so all are.
            taken.old.addAll(stack);
            return null;
          }
          taken.connection = takeFrom(stack, now);
          return stack.isEmpty() ? null : stack;
        });
    taken.old.forEach(PodConnection::close);
    return taken.connection;
  }

  private @Nullable C takeFrom(ArrayDeque<C> stack, long now) {
    for (Iterator<C> each = stack.descendingIterator(); each.hasNext(); ) {
      C next = each.next();
      if (now - next.idleSince() > keepNanos) {
        break;
      }
      if (suits.test(next)) {
        each.remove();
        return next;
      }
    }
    return stack.pollLast();
  }

  /** What a thread has taken out of the map. */
  private static final class Taken<C> {
    private final List<C> old = new ArrayList<>(0);
    private @Nullable C connection;
  }

  void release(C connection, long now) {
    connection.idleSince(now);
    Taken<C> surplus = new Taken<>();
    idle.compute(
        connection.origin(),
        (key, known) -> {
          ArrayDeque<C> stack = known == null ? new ArrayDeque<>() : known;
          if (stack.size() >= perPod) {
            surplus.connection = stack.pollFirst();
          }
          stack.addLast(connection);
          return stack;
        });
    if (surplus.connection != null) {
      surplus.connection.close();
    }
  }

  void expire(long now) {
    List<C> old = new ArrayList<>(0);
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
      ArrayDeque<C> stack = idle.remove(origin);
      if (stack != null) {
        stack.forEach(PodConnection::close);
      }
    }
  }
}
