package io.kvasir.cell.client;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.locations.Sessions;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.Slots;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The workers of sessions that stay with theirs: remembered by the nodes, and given to the cell with each request, for
 * its home may be a new one. Thread-safe.
 */
final class SessionWorkers {
  private static final String SEPARATOR = ",";

  private final Sessions sessions;

  SessionWorkers(Sessions sessions) {
    this.sessions = sessions;
  }

  /** The request with the workers of its session, where its profile reads them. May wait for another node. */
  DecisionRequest located(DecisionRequest request) {
    String session = session(request);
    String workers = session == null ? null : sessions.find(session);
    return workers == null
        ? request
        : request.withPrepared(request.prepared().with(Slots.SESSION_WORKERS, workers));
  }

  /** Remembers the workers of a whole plan. */
  void decided(DecisionRequest request, Decision decision) {
    if (!(decision instanceof Decision.Planned planned) || request.constraints().replacement() != null) {
      return;
    }
    String session = session(request);
    if (session != null) {
      List<String> workers = planned.steps().stream().map(step -> step.worker().id()).toList();
      sessions.remember(session, request.model(), String.join(SEPARATOR, workers));
    }
  }

  /** The workers of a located request. */
  static Set<String> of(DecisionRequest request) {
    String workers = request.prepared().get(Slots.SESSION_WORKERS);
    return workers == null || workers.isEmpty() ? Set.of()
        : Arrays.stream(workers.split(SEPARATOR, -1)).collect(Collectors.toSet());
  }

  /** Names a session among the nodes, without its key; null for none, or one that does not stay. */
  private static @Nullable String session(DecisionRequest request) {
    String key = request.prepared().get(Slots.SESSION_WORKERS) == null
        ? null : request.prepared().get(Slots.SESSION_KEY);
    return key == null || key.isEmpty() ? null
        : request.profile() + "/" + request.model() + "/" + Long.toHexString(Hashing.of(key));
  }
}
