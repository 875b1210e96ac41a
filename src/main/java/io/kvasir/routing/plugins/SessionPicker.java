package io.kvasir.routing.plugins;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.Picker;
import io.kvasir.routing.Ranking;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Sticky sessions: a session stays with its last worker. A new session, and one whose worker is no longer a candidate
 * (stopped, full, or failed), is assigned to the worker with the best score. Sessions expire after {@code ttl} (1 h)
 * without a request, and at most {@code sessions} (100,000) are kept. Requests without a session go to the worker with
 * the best score.
 *
 * <p>A picker that is younger than {@code ttl} does not know all sessions there are: of one that it does not know, it
 * believes what the node where the request arrived remembers of its workers.
 */
final class SessionPicker implements Picker {
  private static final long NEVER = Long.MIN_VALUE;

  private final Cache<String, String> workers;
  private final PerMembership<Map<String, Integer>> slots =
      new PerMembership<>(
          table ->
              Arrays.stream(table)
                  .filter(worker -> worker != null)
                  .collect(Collectors.toMap(Worker::id, Worker::slot)));

  private final long ttlNanos;

  /** Time of the first decision with a session, {@link #NEVER} before it. */
  private volatile long begunNanos = NEVER;

  /** Time of the last decision, by which sessions expire, so that simulated time works as well. */
  private volatile long now;

  SessionPicker(Parameters parameters) {
    Duration ttl = parameters.duration("ttl", Duration.ofHours(1), Duration.ofSeconds(1), Duration.ofDays(30));
    this.ttlNanos = ttl.toNanos();
    this.workers =
        Caffeine.newBuilder()
            .maximumSize(parameters.whole("sessions", 100_000, 1, 100_000_000))
            .expireAfterAccess(ttl)
            .ticker(() -> now)
            .executor(Runnable::run)
            .build();
  }

  @Override
  public int pick(RoutingContext context, Candidates candidates, double[] scores, int[] ranked) {
    int count = Ranking.byScore(context, candidates, scores, ranked);
    String session = context.get(Slots.SESSION_KEY);
    if (session.isEmpty() || count == 0) {
      return count;
    }
    now = context.nanos();
    String last =
        context.dryRun() ? workers.policy().getIfPresentQuietly(session) : workers.getIfPresent(session);
    int sticky = last == null ? remembered(context, candidates) : slotOf(last, candidates);
    if (sticky >= 0) {
      count = toFront(sticky, ranked, count);
    }
    if (!context.dryRun()) {
      workers.put(session, candidates.workers[ranked[0]].id());
    }
    return count;
  }

  /** Assigns the session to the worker that had capacity. */
  @Override
  public void onAlternativeChosen(RoutingContext context, Candidates candidates, int slot) {
    String session = context.get(Slots.SESSION_KEY);
    if (!session.isEmpty()) {
      workers.put(session, candidates.workers[slot].id());
    }
  }

  /** The slot of a worker that another node remembers of a session that is new here, -1 without one. */
  private int remembered(RoutingContext context, Candidates candidates) {
    if (begunNanos == NEVER) {
      begunNanos = context.nanos();
    }
    String elsewhere = context.get(Slots.SESSION_WORKERS);
    if (elsewhere.isEmpty() || context.nanos() - begunNanos >= ttlNanos) {
      return -1;
    }
    for (String worker : elsewhere.split(",", -1)) {
      int slot = slotOf(worker, candidates);
      if (slot >= 0) {
        return slot;
      }
    }
    return -1;
  }

  private int slotOf(@Nullable String worker, Candidates candidates) {
    Integer slot = worker == null ? null : slots.of(candidates).get(worker);
    return slot != null && candidates.has(slot) ? slot : -1;
  }

  /** Moves a slot to the front of the ranking, and returns the ranking's new length. */
  private static int toFront(int slot, int[] ranked, int count) {
    int at = 0;
    while (at < count && ranked[at] != slot) {
      at++;
    }
    int length = at == count && count < ranked.length ? count + 1 : count;
    for (int i = Math.min(at, length - 1); i > 0; i--) {
      ranked[i] = ranked[i - 1];
    }
    ranked[0] = slot;
    return length;
  }

  @Override
  public boolean readsScores() {
    return true;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.SESSION_KEY, Slots.SESSION_WORKERS);
  }
}
