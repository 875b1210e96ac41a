package io.kvasir.cell.client;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.Hashing;
import io.kvasir.routing.KvTransfer.Dialect;
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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Decides while a cell has no home that answers, from the roster alone: prompts that begin alike, or belong to one
 * session, go to the same worker whichever node they arrive at (rendezvous hashing), as long as it has no more than
 * {@value #BOUND} times its share of what this node itself has in flight. Knows nothing of caches, and of other
 * nodes' requests; of workers' health only what this node's requests met. Thread-safe.
 */
final class Fallback {
  /** The begin of every reason. */
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

  /** Where loads that no home has chosen are kept. */
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

  /** A worker and what this node knows of it. */
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
   * @param loads keeps what is chosen, so that the next home will know of it
   */
  Decision decide(Roster roster, String cell, DecisionRequest request, String why, ReservationFactory loads) {
    List<FallbackWorker> all = fleet(roster).serving(cell, request.model());
    FallbackRequest asked = new FallbackRequest(request, AffinityKey.of(request), why, loads);
    String step = request.replacement() == null ? RoutingPlan.WHOLE : request.replacement().step();
    return switch (step) {
      case RoutingPlan.PREFILL -> single(all, asked, step, Role.PREFILL);
      case RoutingPlan.ENCODE -> single(all, asked, step, Role.ENCODE);
      case RoutingPlan.DECODE -> single(all, asked, step, Role.DECODE);
      default -> whole(all, asked, step);
    };
  }

  private record FallbackRequest(DecisionRequest request, long key, String reason, ReservationFactory loads) {}

  /** An aggregated worker does everything; else a decode worker does, where engines can, or two do together. */
  private Decision whole(List<FallbackWorker> all, FallbackRequest asked, String step) {
    if (all.stream().anyMatch(seat -> seat.worker().role() == Role.BOTH)) {
      return single(all, asked, step, Role.BOTH);
    }
    if (all.stream().noneMatch(seat -> seat.worker().kvTransfer() != null
        && seat.worker().kvTransfer().dialect() == Dialect.SGLANG)) {
      return single(all, asked, step, Role.DECODE);
    }
    Decision decode = single(all, asked, RoutingPlan.DECODE, Role.DECODE);
    if (!(decode instanceof Decision.Planned taken)) {
      return decode;
    }
    Worker taker = taken.last().worker();
    List<FallbackWorker> givers = all.stream().filter(seat -> seat.worker().pairsWith(taker)).toList();
    Decision prefill = single(givers, asked, RoutingPlan.PREFILL, Role.PREFILL);
    if (!(prefill instanceof Decision.Planned given)) {
      taken.close(new Outcome.Cancelled());
      return prefill;
    }
    return new Decision.Planned(
        "prefill-decode",
        RoutingPlan.StepOrder.CONCURRENT,
        List.of(given.last(), taken.last()),
        taken.reason());
  }

  private Decision single(List<FallbackWorker> all, FallbackRequest asked, String step, Role role) {
    Predicate<FallbackWorker> untried = seat -> !asked.request().excluded().contains(seat.worker().id());
    List<FallbackWorker> able =
        all.stream().filter(seat -> !seat.draining() && seat.worker().role().takes(role)).toList();
    List<FallbackWorker> well = able.stream().filter(untried).filter(seat -> seat.load().breaker.permits()).toList();
    // Better a worker that may be away than none.
    List<FallbackWorker> seats = well.isEmpty() ? able.stream().filter(untried).toList() : well;
    if (seats.isEmpty()) {
      return new Decision.NoWorker(
          Decision.NoWorkerReason.NONE_HEALTHY, asked.reason() + ", and the roster has no worker to go to instead");
    }
    FallbackWorker chosen = choose(seats, asked.key());
    if (chosen == null) {
      return new Decision.NoWorker(
          Decision.NoWorkerReason.ALL_FULL,
          asked.reason() + ", and this node has filled all workers it could go to instead");
    }
    Worker worker = chosen.worker();
    boolean reads = role != Role.ENCODE && worker.canPrefill();
    Step planned = new Step(step, role, worker, reads, List.of(), FailurePolicy.NEXT_CANDIDATE, null);
    Reservation reservation = asked.loads().open(worker, asked.request(), reads, new LoadWatcher(chosen.load()));
    return new Decision.Planned(
        "single",
        RoutingPlan.StepOrder.SEQUENTIAL,
        List.of(new Decision.Chosen(planned, reservation, 0, 0, 0, false)),
        REASON + "; " + asked.reason() + "; candidates=" + seats.size());
  }

  /** The worker the key likes best of those below the bound; booked. Null when all are full. */
  private static @Nullable FallbackWorker choose(List<FallbackWorker> seats, long key) {
    for (int again = 0; again < seats.size(); again++) {
      long total = 1;
      for (FallbackWorker seat : seats) {
        total += seat.load().inFlight.get();
      }
      int bound = (int) Math.ceil(BOUND * total / seats.size());
      FallbackWorker best = null;
      long liking = 0;
      for (FallbackWorker seat : seats) {
        int inFlight = seat.load().inFlight.get();
        long likes = Hashing.mix(key ^ seat.hash());
        if (inFlight < Math.min(bound, seat.worker().maxInFlight()) && (best == null || likes > liking)) {
          best = seat;
          liking = likes;
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

  private static boolean book(FallbackWorker seat) {
    int most = seat.worker().maxInFlight();
    int now;
    do {
      now = seat.load().inFlight.get();
      if (now >= most) {
        return false;
      }
    } while (!seat.load().inFlight.compareAndSet(now, now + 1));
    return true;
  }

  private WorkersByCell fleet(Roster roster) {
    WorkersByCell now = workers;
    return now.roster() == roster ? now : renew(roster);
  }

  private synchronized WorkersByCell renew(Roster roster) {
    if (workers.roster() != roster) {
      Map<String, LocalLoad> known = new HashMap<>();
      workers.byCell().values().forEach(
          models -> models.values().forEach(
              seats -> seats.forEach(seat -> known.put(seat.worker().id(), seat.load()))));
      Map<String, Map<String, List<FallbackWorker>>> byCell = new HashMap<>();
      for (PodEntry pod : roster.pods()) {
        for (int rank = 0; rank < pod.spec().ranks(); rank++) {
          Worker worker = pod.spec().worker(rank, NO_SLOT);
          FallbackWorker seat =
              new FallbackWorker(
                  worker,
                  Hashing.of(worker.id()),
                  pod.draining(),
                  known.computeIfAbsent(worker.id(), id -> new LocalLoad(clock)));
          Map<String, List<FallbackWorker>> byModel = byCell.computeIfAbsent(pod.cell(), _ -> new HashMap<>());
          worker.models().forEach(model -> byModel.computeIfAbsent(model, _ -> new ArrayList<>()).add(seat));
        }
      }
      workers = new WorkersByCell(roster, byCell);
    }
    return workers;
  }

  /** Sees a request of this node that no home has in its ledger, or had not when it began. */
  private final class LoadWatcher implements RemoteReservation.Watcher {
    private final LocalLoad load;

    LoadWatcher(LocalLoad standing) {
      this.load = standing;
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
        case Outcome.Refused refused -> {}
        case Outcome.Cancelled cancelled -> {}
      }
    }
  }
}
