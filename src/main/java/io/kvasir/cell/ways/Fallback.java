package io.kvasir.cell.ways;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.RoutingPlan.Step;
import io.kvasir.routing.Worker;
import io.kvasir.routing.plugins.Hashes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
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

  /** A worker that could not be reached is left alone for so long. */
  private static final long LOST_NANOS = Duration.ofSeconds(2).toNanos();

  private static final int NO_SLOT = -1;

  private final LongSupplier nanos;
  private volatile Fleet fleet = new Fleet(Roster.EMPTY, Map.of());

  Fallback(LongSupplier nanos) {
    this.nanos = nanos;
  }

  /** Where loads that no home has chosen are kept. */
  @FunctionalInterface
  interface Loads {
    /** Opens a request's load on a worker. */
    Reservation open(
        Worker worker, DecisionRequest request, boolean readsPrompt, RemoteReservation.Watcher watcher);
  }

  /** The workers of a roster, by their cells and the names of their models. */
  private record Fleet(Roster roster, Map<String, Map<String, List<Seat>>> byCell) {
    List<Seat> seats(String cell, String model) {
      return byCell.getOrDefault(cell, Map.of()).getOrDefault(model, List.of());
    }
  }

  /** A worker and what this node knows of it. */
  private record Seat(Worker worker, long hash, boolean draining, Standing standing) {}

  /** What this node has in flight on a worker, and until when it leaves it alone. */
  private static final class Standing {
    final AtomicInteger inFlight = new AtomicInteger();
    volatile boolean lost;
    volatile long lostNanos;
  }

  /**
   * Chooses workers of a cell for a request.
   *
   * @param why what is wrong with the home, in plain words
   * @param loads keeps what is chosen, so that the next home will know of it
   */
  Decision decide(Roster roster, String cell, DecisionRequest request, String why, Loads loads) {
    List<Seat> all = fleet(roster).seats(cell, request.model());
    Asked asked = new Asked(request, AffinityKey.of(request), why, loads);
    String step = request.again() == null ? RoutingPlan.WHOLE : request.again().step();
    return switch (step) {
      case RoutingPlan.PREFILL -> one(all, asked, step, Role.PREFILL);
      case RoutingPlan.ENCODE -> one(all, asked, step, Role.ENCODE);
      case RoutingPlan.DECODE -> one(all, asked, step, Role.DECODE);
      default -> whole(all, asked, step);
    };
  }

  private record Asked(DecisionRequest request, long key, String why, Loads loads) {}

  /** An aggregated worker does everything; else a decode worker does, where engines can, or two do together. */
  private Decision whole(List<Seat> all, Asked asked, String step) {
    if (all.stream().anyMatch(seat -> seat.worker().role() == Role.BOTH)) {
      return one(all, asked, step, Role.BOTH);
    }
    if (all.stream().noneMatch(seat -> seat.worker().kvTransfer() != null
        && seat.worker().kvTransfer().dialect() == Dialect.SGLANG)) {
      return one(all, asked, step, Role.DECODE);
    }
    Decision decode = one(all, asked, RoutingPlan.DECODE, Role.DECODE);
    if (!(decode instanceof Decision.Planned taken)) {
      return decode;
    }
    Worker taker = taken.last().worker();
    List<Seat> givers = all.stream().filter(seat -> seat.worker().pairsWith(taker)).toList();
    Decision prefill = one(givers, asked, RoutingPlan.PREFILL, Role.PREFILL);
    if (!(prefill instanceof Decision.Planned given)) {
      taken.close(new Outcome.Cancelled());
      return prefill;
    }
    return new Decision.Planned(
        "prefill-decode",
        RoutingPlan.Order.CONCURRENT,
        List.of(given.last(), taken.last()),
        taken.reason());
  }

  private Decision one(List<Seat> all, Asked asked, String step, Role role) {
    Predicate<Seat> untried = seat -> !asked.request().excluded().contains(seat.worker().id());
    List<Seat> able = all.stream().filter(seat -> !seat.draining() && seat.worker().role().takes(role)).toList();
    List<Seat> well = able.stream().filter(untried).filter(this::reachable).toList();
    // Better a worker that may be away than none.
    List<Seat> seats = well.isEmpty() ? able.stream().filter(untried).toList() : well;
    if (seats.isEmpty()) {
      return new Decision.NoWorker(
          Decision.Why.NONE_HEALTHY, asked.why() + ", and the roster has no worker to go to instead");
    }
    Seat chosen = choose(seats, asked.key());
    if (chosen == null) {
      return new Decision.NoWorker(
          Decision.Why.ALL_FULL, asked.why() + ", and this node has filled all workers it could go to instead");
    }
    Worker worker = chosen.worker();
    boolean reads = role != Role.ENCODE && worker.readsPrompts();
    Step planned = new Step(step, role, worker, reads, List.of(), FailurePolicy.NEXT_CANDIDATE, null);
    Reservation reservation = asked.loads().open(worker, asked.request(), reads, new Own(chosen.standing()));
    return new Decision.Planned(
        "single",
        RoutingPlan.Order.SEQUENTIAL,
        List.of(new Decision.Chosen(planned, reservation, 0, 0, 0, false)),
        REASON + "; " + asked.why() + "; candidates=" + seats.size());
  }

  /** The worker the key likes best of those below the bound; booked. Null when all are full. */
  private static @Nullable Seat choose(List<Seat> seats, long key) {
    for (int again = 0; again < seats.size(); again++) {
      long total = 1;
      for (Seat seat : seats) {
        total += seat.standing().inFlight.get();
      }
      int bound = (int) Math.ceil(BOUND * total / seats.size());
      Seat best = null;
      long liking = 0;
      for (Seat seat : seats) {
        int inFlight = seat.standing().inFlight.get();
        long likes = Hashes.mix(key ^ seat.hash());
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

  private static boolean book(Seat seat) {
    int most = seat.worker().maxInFlight();
    int now;
    do {
      now = seat.standing().inFlight.get();
      if (now >= most) {
        return false;
      }
    } while (!seat.standing().inFlight.compareAndSet(now, now + 1));
    return true;
  }

  private boolean reachable(Seat seat) {
    return !seat.standing().lost || nanos.getAsLong() - seat.standing().lostNanos > LOST_NANOS;
  }

  private Fleet fleet(Roster roster) {
    Fleet now = fleet;
    return now.roster() == roster ? now : renew(roster);
  }

  private synchronized Fleet renew(Roster roster) {
    if (fleet.roster() != roster) {
      Map<String, Standing> known = new HashMap<>();
      fleet.byCell().values().forEach(
          models -> models.values().forEach(
              seats -> seats.forEach(seat -> known.put(seat.worker().id(), seat.standing()))));
      Map<String, Map<String, List<Seat>>> byCell = new HashMap<>();
      for (PodEntry pod : roster.pods()) {
        for (int rank = 0; rank < pod.spec().ranks(); rank++) {
          Worker worker = pod.spec().worker(rank, NO_SLOT);
          Seat seat =
              new Seat(
                  worker,
                  Hashes.of(worker.id()),
                  pod.draining(),
                  known.computeIfAbsent(worker.id(), id -> new Standing()));
          Map<String, List<Seat>> byModel = byCell.computeIfAbsent(pod.cell(), _ -> new HashMap<>());
          worker.models().forEach(model -> byModel.computeIfAbsent(model, _ -> new ArrayList<>()).add(seat));
        }
      }
      fleet = new Fleet(roster, byCell);
    }
    return fleet;
  }

  /** Sees a request of this node that no home has in its ledger, or had not when it began. */
  private final class Own implements RemoteReservation.Watcher {
    private final Standing standing;

    Own(Standing standing) {
      this.standing = standing;
    }

    @Override
    public void moved() {
      if (standing.lost) {
        standing.lost = false;
      }
    }

    @Override
    public void closed(Outcome outcome) {
      standing.inFlight.decrementAndGet();
      switch (outcome) {
        case Outcome.Failed failed when failed.transport() -> {
          standing.lostNanos = nanos.getAsLong();
          standing.lost = true;
        }
        case Outcome.Completed completed -> standing.lost = false;
        case Outcome.Failed failed -> {}
        case Outcome.Refused refused -> {}
        case Outcome.Cancelled cancelled -> {}
      }
    }
  }
}
