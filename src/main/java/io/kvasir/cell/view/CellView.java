package io.kvasir.cell.view;

import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.ledger.BookedReservation;
import io.kvasir.cell.ledger.HeldHere;
import io.kvasir.cell.ledger.HeldReservations;
import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.ledger.RecordedReservation;
import io.kvasir.cell.worker.Forecast;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.Revision;
import io.kvasir.index.BlockIndex;
import io.kvasir.routing.Passes;
import io.kvasir.routing.Planning;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Workflow;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A cell as the threads of its home node see it: they decide against it inline, each on its own, and
 * nothing here waits but for the end of a decision on the same new prompt ({@link Siblings}). The members
 * stand in an array that is replaced at each change, so a decision sees one set of them from beginning to
 * end.
 */
public final class CellView {
  /** How often a decision starts over because a worker that had the prompt was filled while it looked. */
  private static final int FULL_UNDER_WAY = 4;

  private final String cell;
  private final ProfileSet profiles;
  private final CellMetrics metrics;
  private final DecisionLog decisions;
  private final LongSupplier nanos;
  private final ProfileSet.Workflows workflows;
  private final Siblings siblings = new Siblings();
  private final long incarnation = ThreadLocalRandom.current().nextLong() | 1;
  private final Revision revision = new Revision();
  private final HeldHere held;
  private final DecisionsForOthers forOthers;
  private volatile Seating seating;
  private volatile List<ClusterStatus.StandbyStatus> standbys = List.of();
  private volatile Conditions conditions;

  /**
   * A cell without members.
   *
   * @param decisions where sampled decisions are recorded
   * @param nanos a monotonic clock
   * @param reservationLease how long what another node holds may live
   * @param nextHome the way to the cell when it has left this node
   */
  public CellView(
      String cell,
      BlockIndex index,
      ProfileSet profiles,
      CellMetrics metrics,
      DecisionLog decisions,
      LongSupplier nanos,
      Duration reservationLease,
      Supplier<NextHome> nextHome) {
    this.cell = cell;
    this.profiles = profiles;
    this.metrics = metrics;
    this.decisions = decisions;
    this.nanos = nanos;
    this.workflows = profiles.workflows();
    this.held = new HeldHere(nextHome);
    this.forOthers = new DecisionsForOthers(this, new HeldReservations(reservationLease, nanos));
    this.seating = Seating.in(index);
    this.conditions = new Conditions(seating, revision.number());
    metrics.watch(cell, index, this);
  }

  /** Which of the homes the cell has had this is; never {@code RemoteReservation.NONE}. */
  public long incarnation() {
    return incarnation;
  }

  /** Whom members tell of changes of their {@link Conditions conditions}. */
  public Revision revision() {
    return revision;
  }

  /** By slot. */
  public @Nullable Member[] members() {
    return seating.members();
  }

  /** Puts a member into a slot, or nobody. Called by the cell's actor alone. */
  public void seat(int slot, @Nullable Member member) {
    seating = seating.with(slot, member);
  }

  /** Seats everybody in the same slots of a wider index. Called by the cell's actor alone. */
  public void moveTo(BlockIndex wider) {
    seating = seating.movedTo(wider);
    metrics.watch(cell, wider, this);
  }

  /** The cell as a decision that begins now sees it. */
  public CellFleet fleet() {
    Seating seated = seating;
    long now = revision.number();
    Conditions known = conditions;
    if (!known.areOf(seated, now)) {
      known = new Conditions(seated, now);
      conditions = known;
    }
    return new CellFleet(seated, known, siblings, nanos);
  }

  /** Decides for a request of this node. */
  public Decision decide(DecisionRequest request) {
    return decide(request, true);
  }

  /** Decides for a request of another node, which declares to the cell's next home what it has in flight. */
  Decision decideForOther(DecisionRequest request) {
    return decide(request, false);
  }

  /** Decides for other nodes, and holds what is booked for them. */
  public DecisionsForOthers forOthers() {
    return forOthers;
  }

  /** The cell has left this node, which lives on: what this node has in flight is the next home's. */
  public void leave() {
    held.leave();
  }

  /** Chooses workers, books their load and predicts what they will hold, in one step. */
  private Decision decide(DecisionRequest request, boolean here) {
    Workflow workflow = workflows.of(request.profile());
    RoutingContext context = context(request);
    CellFleet fleet = fleet();
    Recorder recorder = decisions.samples(request.requestId()) ? recorder(fleet) : null;
    try {
      Planning planning = plan(workflow, fleet, context, request, recorder);
      for (int again = 0; again < FULL_UNDER_WAY && fleet.crowdedOut(planning); again++) {
        fleet = fleet();
        recorder = recorder == null ? null : recorder(fleet);
        planning = plan(workflow, fleet, context, request, recorder);
      }
      Decision decision = decision(planning, fleet, request, here);
      return recorder == null ? decision : recorded(decision, recorder, request);
    } finally {
      fleet.leave();
    }
  }

  private static Planning plan(
      Workflow workflow,
      CellFleet fleet,
      RoutingContext context,
      DecisionRequest request,
      @Nullable Recorder recorder) {
    return recorder == null
        ? Passes.plan(workflow, fleet, context, fleet.again(request))
        : Passes.plan(workflow, fleet, context, fleet.again(request), recorder::pass);
  }

  private Recorder recorder(CellFleet fleet) {
    return new Recorder(cell, profiles, fleet.seated().index(), fleet.seated().members());
  }

  private static RoutingContext context(DecisionRequest request) {
    RoutingContext context =
        new RoutingContext(request.requestId(), request.model(), Role.BOTH, request.excluded())
            .put(Slots.CHAIN, request.chain())
            .put(Slots.PROMPT_TOKENS, (long) request.promptTokens())
            .put(Slots.WORK, request.work());
    request.prepared().into(context);
    return context;
  }

  /** Tells how a decision would come about: nothing is booked, and no plugin remembers it. */
  public DecisionRecord explain(DecisionRequest request) {
    CellFleet fleet = fleet();
    Recorder recorder = recorder(fleet);
    try {
      Planning planning =
          Passes.explain(
              workflows.of(request.profile()), fleet, context(request), fleet.again(request), recorder::pass);
      return switch (planning) {
        case Planning.Made made -> recorder.planned(request, made.reason(), made.plan().steps());
        case Planning.None none -> recorder.refused(request, noWorker(none));
      };
    } finally {
      fleet.leave();
    }
  }

  private Decision decision(Planning planning, CellFleet fleet, DecisionRequest request, boolean here) {
    return switch (planning) {
      case Planning.Made made -> planned(made, fleet, request, here);
      case Planning.None none -> noWorker(none);
    };
  }

  /** Records a decision that has been made. */
  private Decision recorded(Decision decision, Recorder recorder, DecisionRequest request) {
    DecisionLog log = decisions;
    return switch (decision) {
      case Decision.NoWorker none -> {
        log.decided(recorder.refused(request, none));
        yield none;
      }
      case Decision.Planned planned -> {
        log.decided(
            recorder.planned(
                request, planned.reason(), planned.steps().stream().map(Decision.Chosen::step).toList()));
        yield new Decision.Planned(
            planned.workflow(),
            planned.order(),
            planned.steps().stream()
                .map(chosen -> RecordedReservation.of(chosen, request.requestId(), log))
                .toList(),
            planned.reason());
      }
    };
  }

  private Decision planned(Planning.Made made, CellFleet fleet, DecisionRequest request, boolean here) {
    List<Decision.Chosen> steps = new ArrayList<>(made.chosen().size());
    int guessed = 0;
    for (int i = 0; i < made.chosen().size(); i++) {
      Selection.Chosen chosen = made.chosen().get(i);
      Member booked = fleet.booked(chosen.slot());
      BookedReservation reservation = new BookedReservation(booked, chosen, request, held);
      if (here) {
        held.add(reservation);
      }
      Forecast forecast = reservation.forecast();
      fleet.predicted(forecast, request.chain(), chosen.slot());
      guessed += chosen.readsPrompt() ? chosen.depth() - forecast.confirmed() : 0;
      steps.add(
          new Decision.Chosen(
              made.plan().steps().get(i),
              reservation,
              chosen.depth(),
              chosen.predictedCachedTokens(),
              Math.min(
                  chosen.predictedCachedTokens(), forecast.confirmedTokens(chosen.booking().promptTokens())),
              booked.events().suspect()));
    }
    return new Decision.Planned(
        made.plan().workflow(),
        made.plan().order(),
        steps,
        guessed == 0 ? made.reason() : made.reason() + "; predicted=" + guessed);
  }

  private Decision.NoWorker noWorker(Planning.None none) {
    return !knowsItsWorkers()
        ? new Decision.NoWorker(
            Decision.Why.NO_HOME, "the cell has just come to its home and has not heard of all its workers yet")
        : new Decision.NoWorker(why(none), none.detail());
  }

  /** Whether it has heard of each of its workers how it is, since the cell came here. */
  public boolean knowsItsWorkers() {
    boolean any = false;
    for (Member member : members()) {
      if (member != null) {
        if (member.health().contact().state() == WorkerStatus.Health.UNKNOWN) {
          return false;
        }
        any = true;
      }
    }
    return any;
  }

  private static Decision.Why why(Planning.None none) {
    return switch (none.want()) {
      // The roster knows the model, so what is missing of it is a worker that lives.
      case LIVE, ROLE, MODEL, ASKED_FOR, PAIR, UNTRIED -> Decision.Why.NONE_HEALTHY;
      case ROOM -> Decision.Why.ALL_FULL;
    };
  }

  /** How pressed the cell is. */
  public CellPressure pressure() {
    return CellPressure.of(members());
  }

  /** The cell's copies on other nodes, as of a moment ago. */
  public List<ClusterStatus.StandbyStatus> standbys() {
    return standbys;
  }

  /** Shows how the cell's copies are. Called by the cell's actor alone. */
  public void standbys(List<ClusterStatus.StandbyStatus> now) {
    standbys = now;
  }

  /** The cell's workers with their state. */
  public List<WorkerStatus> workers() {
    List<WorkerStatus> workers = new ArrayList<>();
    for (Member member : members()) {
      if (member != null) {
        workers.add(member.status(cell));
      }
    }
    return workers;
  }
}
