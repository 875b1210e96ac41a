package io.kvasir.cell.view;

import io.kvasir.cell.Decision;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The requests of other nodes that wait in a cell's room, by the ids those nodes gave them. A node fetches the results
 * every few milliseconds, which renews their lease: a request that it does not fetch for seconds is discarded.
 * Thread-safe.
 */
final class LeasedTurns {
  private static final long FETCH_NANOS = Duration.ofSeconds(5).toNanos();

  /** Results in one message: the others come with the next. */
  private static final int MOST_RESULTS = 32;

  private final NanoClock clock;
  private final Map<NodeScopedId, Entry> waiting = new ConcurrentHashMap<>();

  /** A node's id of a request. */
  private record NodeScopedId(String node, long id) {}

  private record Entry(PendingDecision pending, long fetchedNanos) {}

  LeasedTurns(NanoClock clock) {
    this.clock = clock;
  }

  void add(String node, long id, PendingDecision pending) {
    waiting.put(new NodeScopedId(node, id), new Entry(pending, clock.nanos()));
  }

  /** A result, or none for a request that is not known: its node is to send it again. */
  record Fetched(long id, @Nullable Decision decision) {}

  /** Takes out the results that there are for a node, and notes that it waits for the others. */
  List<Fetched> fetch(String node, List<Long> ids) {
    List<Fetched> results = new ArrayList<>();
    for (long id : ids) {
      NodeScopedId turn = new NodeScopedId(node, id);
      Entry entry =
          waiting.computeIfPresent(turn, (_, known) -> new Entry(known.pending(), clock.nanos()));
      if (results.size() == MOST_RESULTS) {
        continue;
      }
      if (entry == null) {
        results.add(new Fetched(id, null));
      } else if (entry.pending().result().isDone() && waiting.remove(turn) != null) {
        results.add(new Fetched(id, decision(entry.pending())));
      }
    }
    return results;
  }

  /** What has been decided; null when nothing has, and the request is to be sent again once its wait is over. */
  static @Nullable Decision decision(PendingDecision pending) {
    CompletableFuture<TurnResult> result = pending.result();
    return !result.isCompletedExceptionally()
            && result.getNow(null) instanceof TurnResult.Decided(Decision decision)
        ? decision
        : null;
  }

  /** Discards a request. */
  void abandon(String node, long id) {
    Entry entry = waiting.remove(new NodeScopedId(node, id));
    if (entry != null) {
      entry.pending().discard();
    }
  }

  /** Discards the requests of a node that was removed. */
  void abandonAllOf(String node) {
    waiting.keySet().stream().filter(turn -> turn.node().equals(node)).toList()
        .forEach(turn -> abandon(turn.node(), turn.id()));
  }

  /** Discards what no node fetches any more. */
  void expire() {
    long now = clock.nanos();
    waiting.forEach(
        (turn, entry) -> {
          if (now - entry.fetchedNanos() >= FETCH_NANOS && waiting.remove(turn, entry)) {
            entry.pending().discard();
          }
        });
  }
}
