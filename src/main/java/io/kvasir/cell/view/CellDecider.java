package io.kvasir.cell.view;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.ledger.LocalReservations;
import io.kvasir.cell.ledger.RecordedReservation;
import io.kvasir.index.Chain;
import io.kvasir.index.SeenPrefixes;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PlanningSession;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.QueueLimit;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Workflow;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import java.util.BitSet;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes a cell's decisions, each on the thread that needs it: a plan for the {@link CellFleet} as it is, booked and
 * predicted in the same step, started over when a sibling was faster. Thread-safe.
 */
final class CellDecider {
  /** How often a decision starts over because others were made while it looked. */
  private static final int MAX_RETRIES = 4;

  private final String cell;
  private final Supplier<CellFleet> fleets;
  private final ProfileSet profiles;
  private final ProfileSet.CellWorkflows workflows;
  private final DecisionLog decisions;
  private final LocalReservations localReservations;
  private final SeenPrefixes seenPrefixes;
  private final PromptBlockSize blockSize;
  private final @Nullable CellPrograms programs;
  private final Decision.Origin origin;

  /**
   * A decider for a cell whose home is this node.
   *
   * @param fleets the cell as it is now, for one decision
   * @param decisions where sampled decisions are recorded
   * @param localReservations has those of this node's requests
   * @param seenPrefixes what the cell has served
   * @param blockSize is told of every prompt
   * @param programs are told of the turns that begin at once; null when they are not recognised
   */
  CellDecider(
      String cell,
      Supplier<CellFleet> fleets,
      ProfileSet profiles,
      DecisionLog decisions,
      LocalReservations localReservations,
      SeenPrefixes seenPrefixes,
      PromptBlockSize blockSize,
      @Nullable CellPrograms programs) {
    this.cell = cell;
    this.fleets = fleets;
    this.profiles = profiles;
    this.workflows = profiles.workflows();
    this.decisions = decisions;
    this.localReservations = localReservations;
    this.seenPrefixes = seenPrefixes;
    this.blockSize = blockSize;
    this.programs = programs;
    this.origin = new Decision.Origin(Decision.Way.LOCAL, cell, null);
  }

  /** Chooses workers, books their load and predicts what they will hold, in one step. */
  Decision decide(DecisionRequest request, boolean local) {
    Decision decision = decide(request, local, null, _ -> true);
    if (decision == null) {
      throw new IllegalStateException("a decision that nothing held was not made");
    }
    return programs != null && decision instanceof Decision.Planned planned
        ? programs.began(programs.of(request), request, planned)
        : decision;
  }

  /**
   * The same if what would be decided is to be; otherwise nothing is booked, and it is null. The caller knows whose
   * turn it is, and tells.
   *
   * @param limit what may be queued at a worker for the request to go there; null when it goes whatever is
   */
  @Nullable Decision decide(
      DecisionRequest request, boolean local, @Nullable QueueLimit limit, Predicate<PlanResult> goes) {
    blockSize.seen(request.prompt().chain());
    Workflow workflow = workflows.of(request.profile());
    RoutingContext context = context(request).limitQueues(limit);
    boolean sampled = decisions.isSampled(request.requestId());
    for (int again = 0;; again++) {
      boolean last = again == MAX_RETRIES;
      CellFleet fleet = fleets.get();
      DecisionRecorder recorder = sampled ? recorder(fleet) : null;
      try {
        PlanResult planning = plan(workflow, fleet, context, request, recorder);
        if (!last && fleet.lostRace(planning)) {
          continue;
        }
        if (!goes.test(planning)) {
          fleet.cancel(planning);
          return null;
        }
        Decision decision = decision(planning, fleet, request, local, last);
        if (decision != null) {
          return recorder == null ? decision : recorded(decision, recorder, request);
        }
      } finally {
        fleet.release();
      }
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
    return new DecisionRecorder(cell, profiles, fleet);
  }

  private static RoutingContext context(DecisionRequest request) {
    RoutingContext context =
        new RoutingContext(request.requestId(), request.model(), Role.BOTH, request.constraints().excluded())
            .put(Slots.CHAIN, request.prompt().chain())
            .put(Slots.PROMPT_TOKENS, (long) request.prompt().tokens())
            .put(Slots.REQUEST_SHAPE, request.shape())
            .renditions(request.prompt().renditions());
    request.prepared().restoreInto(context);
    return context;
  }

  /**
   * Explains how a decision would come about: nothing is booked, and no plugin remembers it.
   *
   * @param limit as of a decision
   */
  DecisionRecord explain(DecisionRequest request, @Nullable QueueLimit limit) {
    CellFleet fleet = fleets.get();
    DecisionRecorder recorder = recorder(fleet);
    try {
      PlanResult planning =
          PlanningSession.explain(
              workflows.of(request.profile()), fleet, context(request).limitQueues(limit), fleet.replacement(request),
              recorder::pass);
      return switch (planning) {
        case PlanResult.PlanFound found ->
            recorder.planned(request, found.reason(), found.plan().steps(), everCached(found, request));
        case PlanResult.NoPlan none -> recorder.refused(request, noWorker(none, request.model(), fleet.table()));
      };
    } finally {
      fleet.release();
    }
  }

  /** The slots of the workers that the request's profile would choose from if each of them had a place more. */
  BitSet slotsWithAPlaceMore(DecisionRequest request) {
    CellFleet fleet = fleets.get();
    BitSet slots = new BitSet(fleet.slots());
    try {
      PlanResult _ =
          PlanningSession.explain(
              workflows.of(request.profile()), new RoomierFleet(fleet), context(request), fleet.replacement(request),
              pass ->
                  pass.candidates().stream()
                      .filter(candidate -> candidate.removedBy() == null)
                      .forEach(candidate -> slots.set(candidate.worker().slot())));
    } finally {
      fleet.release();
    }
    return slots;
  }

  /**
   * What has been planned as a decision.
   *
   * @param last whether it stands whatever happened meanwhile; otherwise null, and nothing is booked any more, when a
   *     worker turns out to hold more or less than it was chosen for
   */
  private @Nullable Decision decision(
      PlanResult planning, CellFleet fleet, DecisionRequest request, boolean local, boolean last) {
    return switch (planning) {
      case PlanResult.PlanFound found -> {
        BookedPlan booked = new BookedPlan(found, fleet, request);
        booked.reserve(local, localReservations, seenPrefixes);
        if (!last && booked.isOutdated()) {
          booked.withdraw();
          yield null;
        }
        yield booked.decision(everCached(found, request), origin);
      }
      case PlanResult.NoPlan none -> noWorker(none, request.model(), fleet.table());
    };
  }

  /** Records a decision that has been made. */
  private Decision recorded(Decision decision, DecisionRecorder recorder, DecisionRequest request) {
    return switch (decision) {
      case Decision.NoWorker none -> {
        decisions.recordDecision(recorder.refused(request, none));
        yield none;
      }
      case Decision.Planned planned -> {
        decisions.recordDecision(
            recorder.planned(
                request,
                planned.reason(),
                planned.steps().stream().map(Decision.Chosen::step).toList(),
                planned.last().cached().ever()));
        yield planned.with(
            planned.steps().stream()
                .map(chosen -> RecordedReservation.of(chosen, request, decisions))
                .toList(),
            planned.reason());
      }
    };
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

  private static Decision.NoWorker noWorker(PlanResult.NoPlan none, String model, MemberTable members) {
    return !members.isHealthKnown()
        ? new Decision.NoWorker(
            Decision.NoWorkerReason.NO_HOME,
            "the cell has just been moved to its home and has not reached all its workers yet")
        : new Decision.NoWorker(noWorkerReason(none), none.detail(), members.load(model));
  }

  private static Decision.NoWorkerReason noWorkerReason(PlanResult.NoPlan none) {
    return switch (none.unmetNeed()) {
      // The roster has the model, so what is missing is a healthy worker of it.
      case LIVE, ROLE, MODEL, ASKED_FOR, PAIR, UNTRIED -> Decision.NoWorkerReason.NONE_HEALTHY;
      case ROOM -> Decision.NoWorkerReason.ALL_FULL;
    };
  }
}
