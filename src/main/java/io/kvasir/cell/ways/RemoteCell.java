package io.kvasir.cell.ways;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.ledger.OpenLoad;
import io.kvasir.cell.ledger.Tickets;
import io.kvasir.cell.standby.CellNodes;
import io.kvasir.cell.view.Decided;
import io.kvasir.routing.Booking;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * This node's way to a cell that is at home elsewhere, or nowhere for the moment: asks for decisions, tells what
 * becomes of them, and declares to a new home what this node has in flight. While the home does not answer, one
 * request in a while asks it and the others do without, so that not every one waits. Thread-safe.
 */
final class RemoteCell implements NextHome {
  private static final long PAUSE_NANOS = Duration.ofMillis(200).toNanos();

  private final CellHome home;
  private final Duration movePatience;
  private final BooleanSupplier cutOff;
  private final Supplier<@Nullable CellNodes> cellNodes;
  private final LongSupplier nanos;
  private final Tickets tickets = new Tickets();
  private final RemoteMovements movements;
  private final OpenLoads loads;
  private volatile boolean late;
  private long askAgainNanos;

  /**
   * The way to a cell.
   *
   * @param home the cell's home
   * @param movements tells its home which workers move
   * @param movePatience how long a decision is waited for while the cell is moving
   * @param cutOff whether this node is out of the cluster, and nobody need be asked
   * @param cellNodes where the cell is, as this node knows
   */
  RemoteCell(
      CellHome home,
      RemoteMovements movements,
      Duration movePatience,
      BooleanSupplier cutOff,
      Supplier<@Nullable CellNodes> cellNodes,
      LongSupplier nanos) {
    this.home = home;
    this.movements = movements;
    this.movePatience = movePatience;
    this.cutOff = cutOff;
    this.cellNodes = cellNodes;
    this.nanos = nanos;
    this.loads = new OpenLoads(home);
  }

  /**
   * Has the home decide; says that there is none when it does not answer in time. A question that met the cell on its
   * way to another home may be lost, and is asked again there.
   */
  Decision decide(DecisionRequest request) {
    if (cutOff.getAsBoolean()) {
      return cutOff();
    }
    CellNodes before = cellNodes.get();
    boolean moves = isMoving(before);
    if (late && !moves && !mayAsk()) {
      return noHome();
    }
    long begun = nanos.getAsLong();
    do {
      Decision decision = ask(request);
      if (decision != null) {
        return decision;
      }
      CellNodes now = cellNodes.get();
      moves |= isMoving(now) || (before != null && now != null && !now.home().equals(before.home()));
    } while (moves && nanos.getAsLong() - begun < movePatience.toNanos());
    isLate();
    return noHome();
  }

  private static boolean isMoving(@Nullable CellNodes cellNodes) {
    return cellNodes != null && cellNodes.movingTo() != null;
  }

  private @Nullable Decision ask(DecisionRequest request) {
    CellHome.Answer answer = home.ask(request, tickets);
    if (answer == null) {
      return null;
    }
    late = false;
    return decision(answer.decided(), request, answer.ticket());
  }

  /** A decision was made at this home of the cell, wherever that is: it has to know what this node has in flight. */
  void decidedBy(long incarnation) {
    loads.decidedBy(incarnation);
  }

  /**
   * Opens the load of a request on a worker that no home has chosen, and that may have to compute all of its prompt.
   *
   * @param readsPrompt whether the worker does; otherwise it takes the prompt from another one
   */
  Reservation open(Worker worker, DecisionRequest request, boolean readsPrompt, RemoteReservation.Watcher watcher) {
    int prompt = request.promptTokens();
    OpenLoad load =
        new OpenLoad(
            Tickets.reservation(tickets.next(), 0), worker.id(), request.model(), prompt, prompt, readsPrompt, false);
    return new RemoteReservation(load, RemoteReservation.NONE, loads, home, watcher);
  }

  @Override
  public Reservation goOn(Worker worker, String model, Booking booking, boolean readsPrompt) {
    OpenLoad load =
        new OpenLoad(
            Tickets.reservation(tickets.next(), 0),
            worker.id(),
            model,
            booking.promptTokens(),
            booking.uncachedTokens(),
            readsPrompt,
            false);
    return new RemoteReservation(load, RemoteReservation.NONE, loads, home, () -> movements.moved(worker));
  }

  static Decision.NoWorker noHome() {
    return new Decision.NoWorker(Decision.Why.NO_HOME, "the cell's home does not answer");
  }

  static Decision.NoWorker cutOff() {
    return new Decision.NoWorker(Decision.Why.NO_HOME, "this node is cut off from the other router nodes");
  }

  private synchronized boolean mayAsk() {
    long now = nanos.getAsLong();
    if (now - askAgainNanos < 0) {
      return false;
    }
    askAgainNanos = now + PAUSE_NANOS;
    return true;
  }

  private synchronized void isLate() {
    askAgainNanos = nanos.getAsLong() + PAUSE_NANOS;
    late = true;
  }

  private Decision decision(Decided decided, DecisionRequest request, long ticket) {
    List<Decided.Step> steps = decided.steps();
    if (steps == null || steps.isEmpty()) {
      Decision.Why why = decided.why();
      return new Decision.NoWorker(why == null ? Decision.Why.NONE_HEALTHY : why, decided.reason());
    }
    List<Decision.Chosen> chosen = new ArrayList<>();
    for (int i = 0; i < steps.size(); i++) {
      Decided.Step step = steps.get(i);
      chosen.add(
          new Decision.Chosen(
              step.step(),
              reservation(step, request, Tickets.reservation(ticket, i), decided.home()),
              step.depth(),
              step.predictedCachedTokens(),
              step.confirmedCachedTokens(),
              step.suspect()));
    }
    loads.decidedBy(decided.home());
    return new Decision.Planned(
        Objects.requireNonNullElse(decided.workflow(), ""),
        Objects.requireNonNullElse(decided.order(), RoutingPlan.Order.SEQUENTIAL),
        chosen,
        decided.reason());
  }

  private Reservation reservation(Decided.Step step, DecisionRequest request, long name, long incarnation) {
    int prompt = request.promptTokens();
    OpenLoad load =
        new OpenLoad(
            name,
            step.step().worker().id(),
            request.model(),
            prompt,
            prompt - step.predictedCachedTokens(),
            step.step().readsPrompt(),
            false);
    return new RemoteReservation(load, incarnation, loads, home, () -> movements.moved(step.step().worker()));
  }
}
