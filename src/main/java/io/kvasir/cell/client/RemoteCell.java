package io.kvasir.cell.client;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.ledger.CorrelationIds;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.view.DecisionRecorder;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.TurnResult;
import io.kvasir.http.Cancellation;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.routing.Booking;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * This node's client of a cell whose home is another node, or none for the moment: has the home decide, notifies it of
 * what becomes of the reservations, and declares to a new home what this node has in flight. While the home does not
 * answer, one request in a while is sent to it and the others do without, so that not every one waits. Thread-safe.
 */
final class RemoteCell implements NextHome {
  private static final CircuitBreaker.Settings BREAKER = CircuitBreaker.Settings.of(1, Duration.ofMillis(200));

  /** Prompts of more blocks take a home longer, so that their lateness says nothing of it. */
  static final int LARGE_CHAIN = 8_192;

  private static final long UNDECLARED = -1;

  private final CellHome home;
  private final Duration moveTimeout;
  private final BooleanSupplier cutOff;
  private final Supplier<@Nullable CellNodes> cellNodes;
  private final NanoClock clock;
  private final CorrelationIds correlationIds = new CorrelationIds();
  private final RemoteProgress progress;
  private final InFlightLoads loads;
  private final RemoteWaits waits;
  private final RemoteHolds holds;
  private final CircuitBreaker breaker;
  private final AtomicLong answers = new AtomicLong();
  private volatile @Nullable NotedOrigin origin;

  /** An id below which the home has been told that nothing is open; later ones, or open ones, are to be declared. */
  private volatile long declaredBelow = 1;

  /** The origin of decisions while the cell is there. */
  private record NotedOrigin(@Nullable CellNodes nodes, Decision.Origin origin) {}

  /**
   * A client of a cell.
   *
   * @param home the cell's home
   * @param progress notifies the home of workers that progress
   * @param moveTimeout how long a decision may take while the cell is moving
   * @param cutOff whether the cluster has taken this node out, so that no home can be reached
   * @param cellNodes where the cell is, as this node knows
   */
  RemoteCell(
      CellHome home,
      RemoteProgress progress,
      Duration moveTimeout,
      BooleanSupplier cutOff,
      Supplier<@Nullable CellNodes> cellNodes,
      NanoClock clock) {
    this.home = home;
    this.progress = progress;
    this.moveTimeout = moveTimeout;
    this.cutOff = cutOff;
    this.cellNodes = cellNodes;
    this.clock = clock;
    this.breaker = new CircuitBreaker(BREAKER, clock);
    this.loads = new InFlightLoads(home);
    this.waits = new RemoteWaits(home, moveTimeout, clock);
    this.holds = new RemoteHolds(home, moveTimeout, clock);
  }

  /**
   * Has the home decide; {@link Decision.NoWorkerReason#NO_HOME} when it does not answer in time, {@link
   * Decision.NoWorkerReason#CUT_OFF} when it cannot. A request that met
   * the cell while it moved to another home may be lost, and is sent again. The home does not count as silent while it
   * answers others: then it is the request that takes long.
   */
  Decision decide(DecisionRequest request) {
    DecisionRequest atOnce = request.claim() == null ? request : request.claiming(null);
    return decide(atOnce, Cancellation.NONE) instanceof TurnResult.Decided(Decision decision) ? decision : noHome();
  }

  /**
   * Has the home decide when it is the turn of a request with a claim, and waits for that.
   *
   * @param client ends the wait when it is cancelled
   */
  TurnResult decide(DecisionRequest request, Cancellation client) {
    if (cutOff.getAsBoolean()) {
      return new TurnResult.Decided(cutOff());
    }
    CellNodes before = cellNodes.get();
    boolean moves = isMoving(before);
    boolean large = request.prompt().blocks() > LARGE_CHAIN;
    if (!moves && !(large ? breaker.isClosed() : breaker.tryAcquire())) {
      return new TurnResult.Decided(noHome());
    }
    long answersBefore = answers.get();
    long startNanos = clock.nanos();
    do {
      TurnResult result = query(request, client);
      if (result != null) {
        return result;
      }
      CellNodes now = cellNodes.get();
      moves |= isMoving(now) || (before != null && now != null && !now.home().equals(before.home()));
    } while (moves && clock.nanos() - startNanos < moveTimeout.toNanos());
    if (!large && answers.get() == answersBefore) {
      breaker.onFailure(CellHomeClient.NO_ANSWER);
    }
    return new TurnResult.Decided(noHome());
  }

  /** Has the home explain how it would decide. */
  DecisionRecord explain(DecisionRequest request) {
    if (cutOff.getAsBoolean()) {
      return DecisionRecorder.withoutCandidates(home.cell(), request, cutOff());
    }
    return home.explain(request);
  }

  private static boolean isMoving(@Nullable CellNodes cellNodes) {
    return cellNodes != null && cellNodes.movingTo() != null;
  }

  /** Null when the home has not answered in time. */
  private @Nullable TurnResult query(DecisionRequest request, Cancellation client) {
    long correlationId = correlationIds.begin();
    try {
      return switch (home.query(request, correlationId, correlationIds)) {
        case CellHome.QueryResult.Replied(DecisionReply reply, long id, Decision.Way way) -> {
          answers.incrementAndGet();
          breaker.onSuccess();
          yield reply.waits()
              ? await(request, id, way, client)
              : new TurnResult.Decided(decision(reply, request, id, way));
        }
        case CellHome.QueryResult.Late() -> null;
        case CellHome.QueryResult.Unsent(String reason) ->
            new TurnResult.Decided(new Decision.NoWorker(Decision.NoWorkerReason.NO_HOME, reason));
      };
    } finally {
      correlationIds.end(correlationId);
    }
  }

  private TurnResult await(DecisionRequest request, long correlationId, Decision.Way way, Cancellation client) {
    RemoteWaits.Result result = waits.await(correlationId, client);
    if (result == null) {
      return new TurnResult.Cancelled();
    }
    DecisionReply reply = result.reply();
    return reply == null
        ? new TurnResult.Moved()
        : new TurnResult.Decided(decision(reply, request, correlationId, way));
  }

  /**
   * Declares to the home which reservations are open here, so that it renews their leases and gives back what it holds
   * beyond them, such as when the message of an end was lost. Nothing is sent while there is nothing to declare.
   */
  void declareOpen() {
    long below = correlationIds.endedBelow();
    List<OpenReservations> declarations = loads.openReservations(below);
    boolean nothing = declarations.stream().allMatch(each -> each.reservations().isEmpty());
    if (cutOff.getAsBoolean() || (nothing && declaredBelow == below)) {
      return;
    }
    CompletableFuture<Boolean> received = CompletableFuture.completedFuture(true);
    for (OpenReservations declaration : declarations) {
      received = received.thenCombine(home.declareOpen(declaration), Boolean::logicalAnd);
    }
    var _ = received.thenAccept(all -> declaredBelow = all && nothing ? below : UNDECLARED);
  }

  /**
   * The home takes a request of this node back from its worker.
   *
   * @param reservation this node's id of what is booked for it
   */
  void preempt(long reservation) {
    loads.preempt(reservation);
  }

  /**
   * The home is to learn that a request of this node is sent, as soon as it is.
   *
   * @param reservation this node's id of what is booked for it
   */
  void reportSent(long reservation) {
    loads.reportSent(reservation);
  }

  /** Declares what this node has in flight to the home that has decided, if that does not know it. */
  void decidedBy(long incarnation) {
    loads.decidedBy(incarnation);
  }

  /**
   * Opens the load of a request on a worker that no home has chosen, and that may have to compute all of its prompt.
   *
   * @param readsPrompt whether the worker computes the prompt itself; otherwise it takes it from another one
   */
  Reservation open(Worker worker, DecisionRequest request, boolean readsPrompt, RemoteReservation.Watcher watcher) {
    int prompt = request.prompt().tokens();
    return open(worker, request.model(), prompt, prompt, readsPrompt, watcher);
  }

  @Override
  public Reservation takeOver(Worker worker, String model, Booking booking, boolean readsPrompt) {
    return open(
        worker, model, booking.promptTokens(), booking.uncachedTokens(), readsPrompt,
        () -> progress.progressed(worker));
  }

  private Reservation open(
      Worker worker, String model, int prompt, int uncached, boolean readsPrompt, RemoteReservation.Watcher watcher) {
    long request = correlationIds.begin();
    try {
      InFlightLoad load =
          new InFlightLoad(
              CorrelationIds.reservation(request, 0), worker.id(), model, prompt, uncached, readsPrompt, false);
      return new RemoteReservation(load, RemoteReservation.NONE, loads, home, watcher);
    } finally {
      correlationIds.end(request);
    }
  }

  private static Decision.NoWorker noHome() {
    return new Decision.NoWorker(Decision.NoWorkerReason.NO_HOME, CellHomeClient.NO_ANSWER);
  }

  private static Decision.NoWorker cutOff() {
    return new Decision.NoWorker(Decision.NoWorkerReason.CUT_OFF, "this node is cut off from the other router nodes");
  }

  private Decision decision(DecisionReply reply, DecisionRequest request, long correlationId, Decision.Way way) {
    List<DecisionReply.ChosenStep> steps = reply.steps();
    DecisionReply.Turn turn = reply.turn();
    if (steps == null || steps.isEmpty()) {
      Decision.NoWorkerReason reason = reply.noWorkerReason();
      return new Decision.NoWorker(
          reason == null ? Decision.NoWorkerReason.NONE_HEALTHY : reason, reply.reason(), reply.load(),
          turn == null ? null : turn.refusal());
    }
    List<Decision.Chosen> chosen = new ArrayList<>();
    for (int i = 0; i < steps.size(); i++) {
      DecisionReply.ChosenStep step = steps.get(i);
      chosen.add(
          new Decision.Chosen(
              step.step(),
              reservation(step, request, CorrelationIds.reservation(correlationId, i), reply.home()),
              step.depth(),
              step.cached(),
              step.suspect()));
    }
    loads.decidedBy(reply.home());
    return new Decision.Planned(
        Objects.requireNonNullElse(reply.workflow(), ""),
        Objects.requireNonNullElse(reply.order(), RoutingPlan.StepOrder.SEQUENTIAL),
        chosen,
        reply.reason(),
        origin(way),
        turn == null ? 0 : turn.waitedMillis());
  }

  /** Where decisions are made now: the same object as long as the cell stays where it is. */
  private Decision.Origin origin(Decision.Way way) {
    CellNodes now = cellNodes.get();
    NotedOrigin noted = origin;
    if (noted == null || !Objects.equals(noted.nodes(), now) || noted.origin().way() != way) {
      String node = now == null ? null : NodeNames.hostAndPort(now.home());
      noted = new NotedOrigin(now, new Decision.Origin(way, home.cell(), node));
      origin = noted;
    }
    return noted.origin();
  }

  private Reservation reservation(DecisionReply.ChosenStep step, DecisionRequest request, long name, long incarnation) {
    int prompt = request.prompt().tokens();
    InFlightLoad load =
        new InFlightLoad(
            name,
            step.step().worker().id(),
            request.model(),
            prompt,
            prompt - step.predictedCachedTokens(),
            step.step().readsPrompt(),
            false);
    return new RemoteReservation(
        load, incarnation, loads, home, () -> progress.progressed(step.step().worker()), step.held() ? holds : null);
  }
}
