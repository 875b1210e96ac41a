package io.kvasir.picker;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Reservation;
import io.kvasir.http.Cancellation;
import io.kvasir.http.Headers;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where a proxy's request goes: the workers of its plan, the load that is booked on them, and what the proxy and the
 * sidecar of the last worker are told about them. Confined to the thread of its stream.
 */
final class PickedEndpoint {
  private final Cells cells;
  private final PoolExclusions exclusions;
  private final PoolWorkers candidates;
  private final int fallbacks;

  private @Nullable DecisionRequest request;
  private Decision.@Nullable Planned plan;
  private @Nullable StreamReservation booking;
  private @Nullable String servedWorker;

  /**
   * A placement among some workers.
   *
   * @param fallbacks further addresses that the proxy is given
   */
  PickedEndpoint(Cells cells, PoolExclusions exclusions, PoolWorkers candidates, int fallbacks) {
    this.cells = cells;
    this.exclusions = exclusions;
    this.candidates = candidates;
    this.fallbacks = fallbacks;
  }

  /**
   * Decides on the request when it is its turn: its last step is what the proxy sends; the load of the others belongs
   * to it.
   *
   * @param client ends the wait when it is cancelled
   */
  Decision decide(DecisionRequest asked, Cancellation client) {
    request = asked;
    Decision decision = candidates.decide(cells, exclusions, asked, client);
    return decision instanceof Decision.Planned planned ? booked(planned) : decision;
  }

  private Decision.Planned booked(Decision.Planned decided) {
    plan = decided;
    Decision.Chosen last = decided.last();
    List<Reservation> earlier =
        decided.steps().subList(0, decided.steps().size() - 1).stream().map(Decision.Chosen::reservation).toList();
    StreamReservation booked = new StreamReservation(last.reservation(), earlier);
    booking = booked;
    return decided.with(List.of(last.with(booked)), decided.reason());
  }

  private Decision.Planned plan() {
    return Objects.requireNonNull(plan);
  }

  /** The addresses for the proxy, the chosen worker's first. */
  String destination() {
    RoutingPlan.Step step = plan().last().step();
    Set<String> addresses = new LinkedHashSet<>();
    addresses.add(Endpoints.address(step.worker().url()));
    for (Worker other : step.alternatives()) {
      if (addresses.size() > fallbacks) {
        break;
      }
      addresses.add(Endpoints.address(other.url()));
    }
    return String.join(",", addresses);
  }

  /** The address of the chosen worker. */
  String chosenAddress() {
    return Endpoints.address(plan().last().worker().url());
  }

  /** The id of the worker that has served in the place of the chosen one, null while it is that. */
  @Nullable String servedWorker() {
    return servedWorker;
  }

  /** The pool, {@code namespace/name}. */
  String pool() {
    return candidates.pool().id();
  }

  /** A request's headers with what the sidecar of the worker has to know. */
  Headers withSteps(Headers headers) {
    Headers.Builder out = headers.toBuilder().remove(RoutingHeaders.PRIORITY);
    List<String> encoders = new ArrayList<>();
    for (Decision.Chosen step : plan().steps()) {
      switch (step.step().name()) {
        case RoutingPlan.PREFILL -> out.set(RoutingHeaders.PREFILLER, Endpoints.address(step.worker().url()));
        case RoutingPlan.ENCODE -> encoders.add(Endpoints.address(step.worker().url()));
        default -> {
          // The worker's own.
        }
      }
    }
    if (!encoders.isEmpty()) {
      out.set(RoutingHeaders.ENCODERS, String.join(",", encoders));
    }
    Worker worker = plan().last().worker();
    if (worker.ranks() > 1) {
      out.set(RoutingHeaders.RANK_ADDRESS, Endpoints.address(worker.url(), worker.rank()));
    }
    return out.build();
  }

  /** Moves the load to the worker at another address, which has served; false when no worker is there. */
  boolean served(String address) {
    Decision.Chosen other = PoolWorkers.book(cells, Objects.requireNonNull(request), address);
    if (other == null) {
      return false;
    }
    Objects.requireNonNull(booking).move(other.reservation());
    servedWorker = other.worker().id();
    return true;
  }

  /** The response will not be seen: the load stays among those. */
  void unseen(UnseenBookings bookings) {
    Objects.requireNonNull(booking).unseen(bookings);
  }
}
