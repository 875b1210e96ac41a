package io.kvasir.cell.view;

import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.ledger.BookedReservation;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.LocalReservations;
import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.ledger.RecordedReservation;
import io.kvasir.cell.worker.ChangeCounter;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.BlockIndex;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PlanningSession;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Workflow;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A cell as the threads of its home node see it: they decide against it inline, each on its own, and
 * nothing here waits but for the end of a decision on the same new prompt ({@link PrefixStripes}). The members
 * stand in an array that is replaced at each change, so a decision sees one set of them from beginning to
 * end.
 */
public final class CellView {
  /** How often a decision starts over because a worker that had the prompt was filled while it looked. */
  private static final int MAX_RETRIES = 4;

  private final String cell;
  private final ProfileSet profiles;
  private final CellMetrics metrics;
  private final DecisionLog decisions;
  private final ProfileSet.CellWorkflows workflows;
  private final PrefixStripes stripes = new PrefixStripes();
  private final long incarnation = ThreadLocalRandom.current().nextLong() | 1;
  private final ChangeCounter changes = new ChangeCounter();
  private final LocalReservations localReservations;
  private final RemoteDecisions remoteDecisions;
  private volatile MemberTable table;
  private volatile List<ClusterStatus.StandbyStatus> standbys = List.of();
  private volatile HealthSnapshot health;

  /**
   * A cell without members.
   *
   * @param decisions where sampled decisions are recorded
   * @param clock measures time
   * @param reservationLease how long what another node holds may live
   * @param nextHome the way to the cell when it has left this node
   */
  public CellView(
      String cell,
      BlockIndex index,
      ProfileSet profiles,
      CellMetrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      Duration reservationLease,
      Supplier<NextHome> nextHome) {
    this.cell = cell;
    this.profiles = profiles;
    this.metrics = metrics;
    this.decisions = decisions;
    this.workflows = profiles.workflows();
    this.localReservations = new LocalReservations(nextHome);
    this.remoteDecisions = new RemoteDecisions(this, new LeasedReservations(reservationLease, clock));
    this.table = MemberTable.in(index);
    this.health = new HealthSnapshot(table, changes.count());
    metrics.watch(cell, index, this);
  }

  /** Which of the homes the cell has had this is; never {@code RemoteReservation.NONE}. */
  public long incarnation() {
    return incarnation;
  }

  /** Whom members tell of changes of their {@link HealthSnapshot conditions}. */
  public ChangeCounter changes() {
    return changes;
  }

  /** By slot. */
  public @Nullable Member[] members() {
    return table.members();
  }

  /** Puts a member into a slot, or nobody. Called by the cell's actor alone. */
  public void setMember(int slot, @Nullable Member member) {
    table = table.with(slot, member);
  }

  /** Seats everybody in the same slots of a wider index. Called by the cell's actor alone. */
  public void moveTo(BlockIndex wider) {
    table = table.withIndex(wider);
    metrics.watch(cell, wider, this);
  }

  /** The cell as a decision that begins now sees it. */
  public CellFleet fleet() {
    MemberTable seated = table;
    long now = changes.count();
    HealthSnapshot known = health;
    if (!known.isCurrent(seated, now)) {
      known = new HealthSnapshot(seated, now);
      health = known;
    }
    return new CellFleet(seated, known, stripes);
  }

  /** Decides for a request of this node. */
  public Decision decide(DecisionRequest request) {
    return decide(request, true);
  }

  /** Decides for a request of another node, which declares to the cell's next home what it has in flight. */
  Decision decideForPeer(DecisionRequest request) {
    return decide(request, false);
  }

  /** Decides for other nodes, and holds what is booked for them. */
  public RemoteDecisions remoteDecisions() {
    return remoteDecisions;
  }

  /** The cell has left this node, which lives on: what this node has in flight is the next home's. */
  public void handOver() {
    localReservations.handOver();
  }

  /** Chooses workers, books their load and predicts what they will hold, in one step. */
  private Decision decide(DecisionRequest request, boolean here) {
    Workflow workflow = workflows.of(request.profile());
    RoutingContext context = context(request);
    CellFleet fleet = fleet();
    DecisionRecorder recorder = decisions.isSampled(request.requestId()) ? recorder(fleet) : null;
    try {
      PlanResult planning = plan(workflow, fleet, context, request, recorder);
      for (int again = 0; again < MAX_RETRIES && fleet.lostRace(planning); again++) {
        fleet = fleet();
        recorder = recorder == null ? null : recorder(fleet);
        planning = plan(workflow, fleet, context, request, recorder);
      }
      Decision decision = decision(planning, fleet, request, here);
      return recorder == null ? decision : recorded(decision, recorder, request);
    } finally {
      fleet.release();
    }
  }

  private static PlanResult plan(
      Workflow workflow,
      CellFleet fleet,
      RoutingContext context,
      DecisionRequest request,
      @Nullable DecisionRecorder recorder) {
    return recorder == null
        ? PlanningSession.plan(workflow, fleet, context, fleet.replacement(request))
        : PlanningSession.plan(workflow, fleet, context, fleet.replacement(request), recorder::pass);
  }

  private DecisionRecorder recorder(CellFleet fleet) {
    return new DecisionRecorder(cell, profiles, fleet.table().index(), fleet.table().members());
  }

  private static RoutingContext context(DecisionRequest request) {
    RoutingContext context =
        new RoutingContext(request.requestId(), request.model(), Role.BOTH, request.excluded())
            .put(Slots.CHAIN, request.chain())
            .put(Slots.PROMPT_TOKENS, (long) request.promptTokens())
            .put(Slots.REQUEST_SHAPE, request.shape());
    request.prepared().restoreInto(context);
    return context;
  }

  /** Tells how a decision would come about: nothing is booked, and no plugin remembers it. */
  public DecisionRecord explain(DecisionRequest request) {
    CellFleet fleet = fleet();
    DecisionRecorder recorder = recorder(fleet);
    try {
      PlanResult planning =
          PlanningSession.explain(
              workflows.of(request.profile()), fleet, context(request), fleet.replacement(request), recorder::pass);
      return switch (planning) {
        case PlanResult.PlanFound made -> recorder.planned(request, made.reason(), made.plan().steps());
        case PlanResult.NoPlan none -> recorder.refused(request, noWorker(none));
      };
    } finally {
      fleet.release();
    }
  }

  private Decision decision(PlanResult planning, CellFleet fleet, DecisionRequest request, boolean here) {
    return switch (planning) {
      case PlanResult.PlanFound made -> planned(made, fleet, request, here);
      case PlanResult.NoPlan none -> noWorker(none);
    };
  }

  /** Records a decision that has been made. */
  private Decision recorded(Decision decision, DecisionRecorder recorder, DecisionRequest request) {
    DecisionLog log = decisions;
    return switch (decision) {
      case Decision.NoWorker none -> {
        log.recordDecision(recorder.refused(request, none));
        yield none;
      }
      case Decision.Planned planned -> {
        log.recordDecision(
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

  private Decision planned(PlanResult.PlanFound made, CellFleet fleet, DecisionRequest request, boolean here) {
    List<Decision.Chosen> steps = new ArrayList<>(made.chosen().size());
    int guessed = 0;
    for (int i = 0; i < made.chosen().size(); i++) {
      Selection.Chosen chosen = made.chosen().get(i);
      Member booked = fleet.member(chosen.slot());
      BookedReservation reservation = new BookedReservation(booked, chosen, request, localReservations);
      if (here) {
        localReservations.add(reservation);
      }
      HitPrediction forecast = reservation.hitPrediction();
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

  private Decision.NoWorker noWorker(PlanResult.NoPlan none) {
    return !isWorkerHealthKnown()
        ? new Decision.NoWorker(
            Decision.NoWorkerReason.NO_HOME,
            "the cell has just come to its home and has not heard of all its workers yet")
        : new Decision.NoWorker(noWorkerReason(none), none.detail());
  }

  /** Whether it has heard of each of its workers how it is, since the cell came here. */
  public boolean isWorkerHealthKnown() {
    boolean any = false;
    for (Member member : members()) {
      if (member != null) {
        if (member.health().reachability().state() == WorkerStatus.Health.UNKNOWN) {
          return false;
        }
        any = true;
      }
    }
    return any;
  }

  private static Decision.NoWorkerReason noWorkerReason(PlanResult.NoPlan none) {
    return switch (none.unmetNeed()) {
      // The roster knows the model, so what is missing of it is a worker that lives.
      case LIVE, ROLE, MODEL, ASKED_FOR, PAIR, UNTRIED -> Decision.NoWorkerReason.NONE_HEALTHY;
      case ROOM -> Decision.NoWorkerReason.ALL_FULL;
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

  /** The health of each of the cell's workers, by worker id. */
  public Map<String, WorkerStatus.Health> workerHealth() {
    Map<String, WorkerStatus.Health> health = new HashMap<>();
    for (Member member : members()) {
      if (member != null) {
        health.put(member.worker().id(), member.currentHealth());
      }
    }
    return health;
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
