package io.kvasir.cell.client;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.RoutingPlan.Step;
import io.kvasir.routing.Worker;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Decides while a cell has no home that answers, from the roster alone: prompts that begin alike, or belong to one
 * session, go to the same worker whichever node they arrive at (that of the session where it is remembered, rendezvous
 * hashing otherwise), as long as it has no more than {@value #BOUND} times its share of what this node itself has in
 * flight. Caches and the requests of other nodes are
 * not considered; of the workers' health only what requests of this node met. Thread-safe.
 */
final class Fallback {
  /** The prefix of every {@link Decision.Planned#reason}. */
  static final String REASON = "fallback";

  private static final double BOUND = 1.25;

  /** A worker that could not be reached gets no requests for this time, as long as there are others. */
  private static final CircuitBreaker.Settings BREAKER = CircuitBreaker.Settings.of(1, Duration.ofSeconds(2));

  private static final int NO_SLOT = -1;

  private final NanoClock clock;
  private volatile WorkersByCell workers = new WorkersByCell(Roster.EMPTY, Map.of());

  Fallback(NanoClock clock) {
    this.clock = clock;
  }

  /** Opens reservations on workers that no home has chosen. */
  @FunctionalInterface
  interface ReservationFactory {
    /** Opens a request's load on a worker. */
    Reservation open(
        Worker worker, DecisionRequest request, boolean readsPrompt, RemoteReservation.Watcher watcher);
  }

  /** The workers of a roster, by their cells and the names of their models. */
  private record WorkersByCell(Roster roster, Map<String, Map<String, List<FallbackWorker>>> byCell) {
    List<FallbackWorker> serving(String cell, String model) {
      return byCell.getOrDefault(cell, Map.of()).getOrDefault(model, List.of());
    }
  }

  /** A worker, and the load of this node on it. */
  private record FallbackWorker(Worker worker, long hash, boolean draining, LocalLoad load) {}

  /** This node's requests in flight on a worker, and whether they can reach it. */
  private static final class LocalLoad {
    final AtomicInteger inFlight = new AtomicInteger();
    final CircuitBreaker breaker;

    LocalLoad(NanoClock clock) {
      this.breaker = new CircuitBreaker(BREAKER, clock);
    }
  }

  /**
   * Chooses workers of a cell for a request.
   *
   * @param why what is wrong with the home, in plain words
   * @param reservations opens a reservation that the next home will be notified of
   */
  Decision decide(Roster roster, String cell, DecisionRequest request, String why, ReservationFactory reservations) {
    List<FallbackWorker> all = workersOf(roster).serving(cell, request.model());
    FallbackRequest fallback =
        new FallbackRequest(request, AffinityKey.of(request), SessionWorkers.of(request), why, reservations);
    DecisionRequest.StepReplacement replacement = request.constraints().replacement();
    String step = replacement == null ? RoutingPlan.WHOLE : replacement.step();
    return switch (step) {
      case RoutingPlan.PREFILL -> single(partners(all, replacement), fallback, step, Role.PREFILL);
      case RoutingPlan.ENCODE -> single(all, fallback, step, Role.ENCODE);
      case RoutingPlan.DECODE -> single(partners(all, replacement), fallback, step, Role.DECODE);
      default -> whole(all, fallback, step);
    };
  }

  /** Those that can hand KV blocks over to, or take them from, the workers that the plan keeps. */
  private static List<FallbackWorker> partners(
      List<FallbackWorker> all, DecisionRequest.@Nullable StepReplacement replacement) {
    if (replacement == null) {
      return all;
    }
    Map<String, String> placed = replacement.placed();
    List<Worker> kept =
        all.stream()
            .map(FallbackWorker::worker)
            .filter(worker -> worker.id().equals(placed.get(RoutingPlan.PREFILL))
                || worker.id().equals(placed.get(RoutingPlan.DECODE)))
            .toList();
    return all.stream().filter(candidate -> kept.stream().allMatch(candidate.worker()::pairsWith)).toList();
  }

  private record FallbackRequest(
      DecisionRequest request, long key, Set<String> located, String reason, ReservationFactory reservations) {}

  /** One aggregated worker; else one decode worker that can prefill itself; else a prefill and a decode worker. */
  private Decision whole(List<FallbackWorker> all, FallbackRequest fallback, String step) {
    if (all.stream().anyMatch(candidate -> candidate.worker().role() == Role.BOTH)) {
      return single(all, fallback, step, Role.BOTH);
    }
    if (all.stream().allMatch(Fallback::decodesAlone)) {
      return single(all, fallback, step, Role.DECODE);
    }
    Decision decode = single(all, fallback, RoutingPlan.DECODE, Role.DECODE);
    if (!(decode instanceof Decision.Planned decodePlan)) {
      return decode;
    }
    Worker decodeWorker = decodePlan.last().worker();
    List<FallbackWorker> partners =
        all.stream().filter(candidate -> candidate.worker().pairsWith(decodeWorker)).toList();
    Decision prefill = single(partners, fallback, RoutingPlan.PREFILL, Role.PREFILL);
    if (!(prefill instanceof Decision.Planned prefillPlan)) {
      decodePlan.close(new Outcome.Cancelled());
      return prefill;
    }
    return new Decision.Planned(
        RoutingPlan.PREFILL_DECODE_WORKFLOW,
        RoutingPlan.StepOrder.ofPrefillDecode(decodeWorker),
        List.of(prefillPlan.last(), decodePlan.last()),
        decodePlan.reason());
  }

  /** Whether decode workers that hand KV blocks over as this one does need no prefill worker. */
  private static boolean decodesAlone(FallbackWorker candidate) {
    KvTransfer transfer = candidate.worker().kvTransfer();
    return transfer == null || transfer.dialect().decodeCanPrefill();
  }

  private Decision single(List<FallbackWorker> all, FallbackRequest fallback, String step, Role role) {
    Set<String> excluded = fallback.request().constraints().excluded();
    Predicate<FallbackWorker> untried = candidate -> !excluded.contains(candidate.worker().id());
    List<FallbackWorker> capable =
        all.stream().filter(candidate -> !candidate.draining() && candidate.worker().role().takes(role)).toList();
    List<FallbackWorker> reachable =
        capable.stream().filter(untried).filter(candidate -> candidate.load().breaker.permits()).toList();
    // Better a worker that may be unreachable than none.
    List<FallbackWorker> candidates = reachable.isEmpty() ? capable.stream().filter(untried).toList() : reachable;
    if (candidates.isEmpty()) {
      return new Decision.NoWorker(
          Decision.NoWorkerReason.NONE_HEALTHY, fallback.reason() + ", and the roster has no worker to go to instead");
    }
    FallbackWorker chosen = choose(candidates, fallback);
    if (chosen == null) {
      return new Decision.NoWorker(
          Decision.NoWorkerReason.ALL_FULL,
          fallback.reason() + ", and this node has filled all workers it could go to instead");
    }
    Worker worker = chosen.worker();
    boolean reads = role != Role.ENCODE && worker.canPrefill();
    Step planned = new Step(step, role, worker, reads, List.of(), FailurePolicy.NEXT_CANDIDATE, null);
    Reservation reservation =
        fallback.reservations().open(worker, fallback.request(), reads, new LoadWatcher(chosen.load()));
    return new Decision.Planned(
        RoutingPlan.SINGLE_WORKFLOW,
        RoutingPlan.StepOrder.SEQUENTIAL,
        List.of(new Decision.Chosen(planned, reservation, 0, CachedTokens.NONE, false)),
        REASON + "; " + fallback.reason() + "; candidates=" + candidates.size());
  }

  /**
   * Books the session's worker, else that of the highest hash with the key, among those below the bound; null when all
   * are full.
   */
  private static @Nullable FallbackWorker choose(List<FallbackWorker> candidates, FallbackRequest fallback) {
    for (int attempt = 0; attempt < candidates.size(); attempt++) {
      long total = 1;
      for (FallbackWorker candidate : candidates) {
        total += candidate.load().inFlight.get();
      }
      int bound = (int) Math.ceil(BOUND * total / candidates.size());
      FallbackWorker best = null;
      long bestScore = 0;
      for (FallbackWorker candidate : candidates) {
        int inFlight = candidate.load().inFlight.get();
        long score = fallback.located().contains(candidate.worker().id())
            ? Long.MAX_VALUE
            : Hashing.mix(fallback.key() ^ candidate.hash());
        if (inFlight < Math.min(bound, candidate.worker().maxInFlight()) && (best == null || score > bestScore)) {
          best = candidate;
          bestScore = score;
        }
      }
      if (best == null) {
        return null;
      }
      if (book(best)) {
        return best;
      }
    }
    return null;
  }

  private static boolean book(FallbackWorker candidate) {
    int limit = candidate.worker().maxInFlight();
    int now;
    do {
      now = candidate.load().inFlight.get();
      if (now >= limit) {
        return false;
      }
    } while (!candidate.load().inFlight.compareAndSet(now, now + 1));
    return true;
  }

  private WorkersByCell workersOf(Roster roster) {
    WorkersByCell now = workers;
    return now.roster() == roster ? now : renew(roster);
  }

  private synchronized WorkersByCell renew(Roster roster) {
    if (workers.roster() != roster) {
      Map<String, LocalLoad> known = new HashMap<>();
      workers.byCell().values().forEach(
          models -> models.values().forEach(
              candidates -> candidates.forEach(candidate -> known.put(candidate.worker().id(), candidate.load()))));
      Map<String, Map<String, List<FallbackWorker>>> byCell = new HashMap<>();
      for (PodEntry pod : roster.pods()) {
        for (int rank = 0; rank < pod.spec().engine().ranks(); rank++) {
          Worker worker = pod.spec().worker(rank, NO_SLOT);
          FallbackWorker candidate =
              new FallbackWorker(
                  worker,
                  Hashing.of(worker.id()),
                  pod.draining(),
                  known.computeIfAbsent(worker.id(), id -> new LocalLoad(clock)));
          Map<String, List<FallbackWorker>> byModel = byCell.computeIfAbsent(pod.cell(), _ -> new HashMap<>());
          worker.models().forEach(model -> byModel.computeIfAbsent(model, _ -> new ArrayList<>()).add(candidate));
        }
      }
      workers = new WorkersByCell(roster, byCell);
    }
    return workers;
  }

  /** Keeps the {@link LocalLoad} of a worker while a reservation on it is open. */
  private static final class LoadWatcher implements RemoteReservation.Watcher {
    private final LocalLoad load;

    LoadWatcher(LocalLoad load) {
      this.load = load;
    }

    @Override
    public void progressed() {
      load.breaker.onSuccess();
    }

    @Override
    public void closed(Outcome outcome) {
      load.inFlight.decrementAndGet();
      switch (outcome) {
        case Outcome.Failed failed when failed.transport() -> load.breaker.onFailure("it could not be reached");
        case Outcome.Completed completed -> load.breaker.onSuccess();
        case Outcome.Failed failed -> {}
        case Outcome.UnknownModel unknown -> {}
        case Outcome.Refused refused -> {}
        case Outcome.Cancelled cancelled -> {}
        case Outcome.Preempted preempted -> {}
      }
    }
  }
}
