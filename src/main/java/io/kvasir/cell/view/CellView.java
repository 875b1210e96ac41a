package io.kvasir.cell.view;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.CellLoad;
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
import io.kvasir.index.Chain;
import io.kvasir.index.SeenPrefixes;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PlanningSession;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import io.kvasir.routing.Workflow;
import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.LearntCost;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A cell as the threads of its home node read it: they decide against it inline, each on its own, and
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
  private final Decision.Origin origin;
  private final PrefixStripes stripes = new PrefixStripes();
  private final @Nullable CellAdmission admission;
  private final SeenPrefixes seenPrefixes;
  private final @Nullable CellPrograms programs;
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
   * @param programs what is to be known of programs
   * @param waiting how requests wait
   * @param nextHome the client of the cell when it has left this node
   */
  public CellView(
      String cell,
      BlockIndex index,
      ProfileSet profiles,
      CellMetrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      Duration reservationLease,
      ProgramSettings programs,
      AdmissionSettings waiting,
      Supplier<NextHome> nextHome) {
    this.cell = cell;
    this.origin = new Decision.Origin(Decision.Way.LOCAL, cell, null);
    this.profiles = profiles;
    this.metrics = metrics;
    this.decisions = decisions;
    this.workflows = profiles.workflows();
    this.programs =
        programs.on()
            ? new CellPrograms(programs, metrics.programs(), profiles.costs(), clock, this::heldTokens, this::members)
            : null;
    this.admission = waiting.on()
        ? new CellAdmission(
            cell, this::decide, engines(), waiting, metrics.admission(), this.programs, clock)
        : null;
    this.seenPrefixes = new SeenPrefixes(index.slots());
    this.localReservations = new LocalReservations(nextHome);
    this.remoteDecisions = new RemoteDecisions(this, new LeasedReservations(reservationLease, clock), metrics, clock);
    this.table = MemberTable.in(index);
    this.health = new HealthSnapshot(table, changes.count());
    metrics.watch(cell, index, this);
  }

  private GateCheck.Engines engines() {
    return new GateCheck.Engines() {
      @Override
      public boolean isCostKnown(Worker worker) {
        return profiles.costs().isKnown(worker.deployment());
      }

      @Override
      public double silentlyReadMs(int slot) {
        Member member = members()[slot];
        return member == null ? 0 : member.silentlyReadMs();
      }
    };
  }

  /** The identity of this home among those the cell has had; never {@code RemoteReservation.NONE}. */
  public long incarnation() {
    return incarnation;
  }

  /** Counts the changes of members that make a new {@link HealthSnapshot}. */
  public ChangeCounter changes() {
    return changes;
  }

  /** By slot. */
  public @Nullable Member[] members() {
    return table.members();
  }

  /** Puts a member into a slot, or empties it. Called by the cell's actor alone. */
  public void setMember(int slot, @Nullable Member member) {
    table = table.with(slot, member);
  }

  /** Moves all members to the same slots of a wider index. Called by the cell's actor alone. */
  public void moveTo(BlockIndex wider) {
    table = table.withIndex(wider);
    metrics.watch(cell, wider, this);
  }

  /** A snapshot of the cell for a decision that begins now. */
  public CellFleet fleet() {
    MemberTable current = table;
    long now = changes.count();
    HealthSnapshot known = health;
    if (!known.isCurrent(current, now)) {
      known = new HealthSnapshot(current, now);
      health = known;
    }
    return new CellFleet(current, known, stripes);
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

  /** Declares this node's open reservations to the cell's next home: the cell has moved, this node stays up. */
  public void handOver() {
    localReservations.handOver();
  }

  /** Where requests wait for their turns; null when none ever does. */
  public @Nullable CellAdmission admission() {
    return admission;
  }

  /** Who waits here. */
  public ClusterStatus.WaitingStatus waiting() {
    return new ClusterStatus.WaitingStatus(
        admission == null ? List.of() : admission.waiting(), programs == null ? null : programs.status(),
        admission == null ? List.of() : admission.backlog());
  }

  /** A worker may have room again. */
  public void roomChanged() {
    if (admission != null) {
      admission.roomChanged();
    }
  }

  /** Dismisses the requests that wait: the cell has moved, or this node stops. */
  public void closeAdmission() {
    if (admission != null) {
      admission.close();
    }
  }

  /** Chooses workers, books their load and predicts what they will hold, in one step. */
  private Decision decide(DecisionRequest request, boolean local) {
    Decision decision = decide(request, local, _ -> true);
    if (decision == null) {
      throw new IllegalStateException("a decision that nothing held was not made");
    }
    return decision;
  }

  /** The same if what would be decided is to be; otherwise nothing is booked, and it is null. */
  @Nullable Decision decide(DecisionRequest request, boolean local, Predicate<PlanResult> goes) {
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
      if (!goes.test(planning)) {
        fleet.cancel(planning);
        return null;
      }
      Decision decision = decision(planning, fleet, request, local);
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
        new RoutingContext(request.requestId(), request.model(), Role.BOTH, request.constraints().excluded())
            .put(Slots.CHAIN, request.prompt().chain())
            .put(Slots.PROMPT_TOKENS, (long) request.prompt().tokens())
            .put(Slots.REQUEST_SHAPE, request.shape());
    request.prepared().restoreInto(context);
    return context;
  }

  /** Explains how a decision would come about: nothing is booked, and no plugin remembers it. */
  public DecisionRecord explain(DecisionRequest request) {
    CellFleet fleet = fleet();
    DecisionRecorder recorder = recorder(fleet);
    try {
      PlanResult planning =
          PlanningSession.explain(
              workflows.of(request.profile()), fleet, context(request), fleet.replacement(request), recorder::pass);
      return switch (planning) {
        case PlanResult.PlanFound found ->
            recorder.planned(request, found.reason(), found.plan().steps(), everCached(found, request));
        case PlanResult.NoPlan none -> recorder.refused(request, noWorker(none, request.model()));
      };
    } finally {
      fleet.release();
    }
  }

  private Decision decision(PlanResult planning, CellFleet fleet, DecisionRequest request, boolean local) {
    return switch (planning) {
      case PlanResult.PlanFound found -> {
        Decision.Planned planned = planned(found, fleet, request, local);
        yield programs == null ? planned : programs.began(planned, request);
      }
      case PlanResult.NoPlan none -> noWorker(none, request.model());
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
                request,
                planned.reason(),
                planned.steps().stream().map(Decision.Chosen::step).toList(),
                planned.last().cached().ever()));
        yield planned.with(
            planned.steps().stream()
                .map(chosen -> RecordedReservation.of(chosen, request, log))
                .toList(),
            planned.reason());
      }
    };
  }

  private Decision.Planned planned(
      PlanResult.PlanFound found, CellFleet fleet, DecisionRequest request, boolean local) {
    List<Decision.Chosen> steps = new ArrayList<>(found.chosen().size());
    int ever = everCached(found, request);
    int predictedBlocks = 0;
    for (int i = 0; i < found.chosen().size(); i++) {
      Selection.Chosen chosen = found.chosen().get(i);
      Member booked = fleet.member(chosen.slot());
      BookedReservation reservation = new BookedReservation(booked, chosen, request, localReservations, seenPrefixes);
      if (local) {
        localReservations.add(reservation);
      }
      if (!local || (i > 0 && found.plan().order() == RoutingPlan.StepOrder.SEQUENTIAL)) {
        // Who sends it, or when that will be, is not known here.
        reservation.sent();
      }
      HitPrediction prediction = reservation.hitPrediction();
      fleet.predicted(prediction, request.prompt().chain(), chosen.slot());
      predictedBlocks += chosen.readsPrompt() ? chosen.depth() - prediction.confirmed() : 0;
      steps.add(
          new Decision.Chosen(
              found.plan().steps().get(i),
              reservation,
              chosen.depth(),
              new CachedTokens(
                  chosen.predictedCachedTokens(),
                  Math.min(
                      chosen.predictedCachedTokens(), prediction.confirmedTokens(chosen.booking().promptTokens())),
                  chosen.bestCachedTokens(),
                  ever),
              booked.events().suspect()));
    }
    return new Decision.Planned(
        found.plan().workflow(),
        found.plan().order(),
        steps,
        predictedBlocks == 0 ? found.reason() : found.reason() + "; predicted=" + predictedBlocks,
        origin,
        0);
  }

  /** Tokens of the prompt that the cell has seen before; where none of them count, as of several prompts, 0. */
  private int everCached(PlanResult.PlanFound found, DecisionRequest request) {
    DecisionRequest.Prompt prompt = request.prompt();
    if (prompt.tokens() < 1 || request.shape().severalPrompts()) {
      return 0;
    }
    int best = 0;
    for (int i = 0; i < found.chosen().size(); i++) {
      best = Math.max(best, found.chosen().get(i).bestCachedTokens());
    }
    Chain chain = prompt.chain();
    return new PromptSize(prompt.tokens(), chain.blockSize())
        .cached(seenPrefixes.depth(chain, best / chain.blockSize()));
  }

  private Decision.NoWorker noWorker(PlanResult.NoPlan none, String model) {
    return !isWorkerHealthKnown()
        ? new Decision.NoWorker(
            Decision.NoWorkerReason.NO_HOME,
            "the cell has just been moved to its home and has not reached all its workers yet")
        : new Decision.NoWorker(noWorkerReason(none), none.detail(), load(model));
  }

  private CellLoad load(String model) {
    int workers = 0;
    int routable = 0;
    int inFlight = 0;
    int maxInFlight = 0;
    for (Member member : members()) {
      if (member != null && member.worker().models().contains(model)) {
        workers++;
        if (member.isRoutable()) {
          routable++;
          inFlight += member.load().inFlight();
          maxInFlight += member.worker().maxInFlight();
        }
      }
    }
    return new CellLoad(workers, routable, inFlight, maxInFlight);
  }

  /** Whether the health of every worker is known since the cell came to this node. */
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
      // The roster has the model, so what is missing is a healthy worker of it.
      case LIVE, ROLE, MODEL, ASKED_FOR, PAIR, UNTRIED -> Decision.NoWorkerReason.NONE_HEALTHY;
      case ROOM -> Decision.NoWorkerReason.ALL_FULL;
    };
  }

  /**
   * How far the workers of a model hold the beginnings of chains: for each chain, in their order, the depth of every
   * worker that holds its first block.
   */
  public List<List<Integer>> heldPrefixes(String model, List<Chain> chains) {
    MemberTable current = table;
    long[] serving = new long[current.slots() >>> 6];
    for (int slot = 0; slot < current.slots(); slot++) {
      Worker worker = current.workers()[slot];
      if (worker != null && worker.models().contains(model)) {
        serving[slot >>> 6] |= 1L << slot;
      }
    }
    List<List<Integer>> held = new ArrayList<>(chains.size());
    for (Chain chain : chains) {
      int[] depths = new int[current.slots()];
      int _ = current.index().search(chain, serving, depths);
      held.add(Arrays.stream(depths).filter(depth -> depth > 0).boxed().toList());
    }
    return held;
  }

  /** The cell's programs; null when they are not recognised. */
  public @Nullable CellPrograms programs() {
    return programs;
  }

  private int heldTokens(DecisionRequest request) {
    Chain chain = request.prompt().chain();
    List<Integer> held = heldPrefixes(request.model(), List.of(chain)).getFirst();
    return held.stream().mapToInt(depth -> depth).max().orElse(0) * chain.blockSize();
  }

  /** The pressure on the cell. */
  public CellPressure pressure() {
    CellFleet fleet = fleet();
    return CellPressure.of(fleet.table().members(), fleet.health());
  }

  /**
   * Whether a member may be left out because of its error answers: at least a third of those that could do its work
   * would still get requests.
   */
  public boolean canSpare(Member member) {
    CellFleet fleet = fleet();
    int slot = member.worker().slot();
    return slot < fleet.slots() && member.equals(fleet.table().members()[slot]) && fleet.health().canSpare(slot);
  }

  /** The state of the cell's replicas on other nodes, as of a moment ago. */
  public List<ClusterStatus.StandbyStatus> standbys() {
    return standbys;
  }

  /** Publishes the state of the cell's replicas. Called by the cell's actor alone. */
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

  /** How often each worker was lost, by worker id; those that never were are left out. */
  public Map<String, Integer> workerLosses() {
    Map<String, Integer> losses = new HashMap<>();
    for (Member member : members()) {
      if (member != null && member.losses() > 0) {
        losses.put(member.worker().id(), member.losses());
      }
    }
    return losses;
  }

  /** The cell's workers with their state. */
  public List<WorkerStatus> workers() {
    List<WorkerStatus> workers = new ArrayList<>();
    Map<Deployment, LearntCost> learnt = profiles.costs().learnt();
    for (Member member : members()) {
      if (member != null) {
        Deployment deployment = member.worker().deployment();
        double answerTokens = profiles.outputs().expected(deployment.model());
        LearntCost cost = learnt.get(deployment);
        LearntCost own = cost == null ? null : cost.paced(profiles.costs().pace(member.worker().instance()));
        workers.add(member.status(cell, own, metrics.answers(member), answerTokens));
      }
    }
    return workers;
  }
}
