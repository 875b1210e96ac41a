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
 * Sticky sessions: a session stays with the worker that had it last. A new one, and one whose worker is not among the
 * candidates any more (it is gone, full, or has failed the request), goes where the score is best, and stays there from
 * then on. What has been quiet for {@code ttl} (1 h) is forgotten, and of more than {@code sessions} (100,000) those
 * least in use. Requests without a session go where the score is best.
 */
final class SessionPicker implements Picker {
  private final Cache<String, String> workers;
  private final PerMembership<Map<String, Integer>> slots =
      new PerMembership<>(
          table ->
              Arrays.stream(table)
                  .filter(worker -> worker != null)
                  .collect(Collectors.toMap(Worker::id, Worker::slot)));

  /** As the last decision had it: the table tells its time by decisions, so that simulated time is as good. */
  private volatile long now;

  SessionPicker(Parameters parameters) {
    Duration ttl = parameters.duration("ttl", Duration.ofHours(1), Duration.ofSeconds(1), Duration.ofDays(30));
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
    int home = slotOf(last, candidates);
    if (home >= 0) {
      count = toFront(home, ranked, count);
    }
    if (!context.dryRun()) {
      workers.put(session, candidates.workers[ranked[0]].id());
    }
    return count;
  }

  /** The next one had room: the session moves there. */
  @Override
  public void onAlternativeChosen(RoutingContext context, Candidates candidates, int slot) {
    String session = context.get(Slots.SESSION_KEY);
    if (!session.isEmpty()) {
      workers.put(session, candidates.workers[slot].id());
    }
  }

  private int slotOf(@Nullable String worker, Candidates candidates) {
    Integer slot = worker == null ? null : slots.of(candidates).get(worker);
    return slot != null && candidates.has(slot) ? slot : -1;
  }

  /** Ranks a slot first and the others after it, and returns how many there are then. */
  private static int toFront(int slot, int[] ranked, int count) {
    int at = 0;
    while (at < count && ranked[at] != slot) {
      at++;
    }
    int grown = at == count && count < ranked.length ? count + 1 : count;
    for (int i = Math.min(at, grown - 1); i > 0; i--) {
      ranked[i] = ranked[i - 1];
    }
    ranked[0] = slot;
    return grown;
  }

  @Override
  public boolean readsScores() {
    return true;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.SESSION_KEY);
  }
}
