package io.kvasir.cell;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.Passes;
import io.kvasir.routing.Planning;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import io.kvasir.routing.Workflow;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A cell as the threads of its home node see it: they decide against it inline, each on its own, and
 * nothing here waits but for the end of a decision on the same new prompt ({@link Siblings}). The members
 * stand in an array that is replaced at each change, so a decision sees one set of them from beginning to
 * end.
 */
final class CellView {
  /** How often a decision starts over because a worker that had the prompt was filled while it looked. */
  private static final int FULL_UNDER_WAY = 4;

  private final String cell;
  private final CellServices services;
  private final ProfileSet.Workflows workflows;
  private final Siblings siblings = new Siblings();
  private final long incarnation = ThreadLocalRandom.current().nextLong() | 1;
  private volatile Seating seating;

  /** What the index's word is worth by slot; null while it is good of everybody. */
  private volatile double @Nullable [] trust;

  /** The index, who sits where, and the same as the table of workers that candidates refer to. Never changed. */
  private record Seating(BlockIndex index, @Nullable Member[] members, @Nullable Worker[] workers) {
    Seating with(int slot, @Nullable Member member) {
      @Nullable Member[] changedMembers = members.clone();
      @Nullable Worker[] changedWorkers = workers.clone();
      changedMembers[slot] = member;
      changedWorkers[slot] = member == null ? null : member.worker();
      return new Seating(index, changedMembers, changedWorkers);
    }

    Seating in(BlockIndex other) {
      return new Seating(other, Arrays.copyOf(members, other.slots()), Arrays.copyOf(workers, other.slots()));
    }
  }

  CellView(String cell, BlockIndex index, CellServices services) {
    this.cell = cell;
    this.services = services;
    this.workflows = services.profiles().workflows();
    this.seating = 
        new Seating(index, new @Nullable Member[index.slots()], new @Nullable Worker[index.slots()]);
    services.metrics().watch(cell, index, this);
  }

  /** Which of the homes the cell has had this is; never {@link RemoteReservation#NONE}. */
  long incarnation() {
    return incarnation;
  }

  @Nullable Member[] members() {
    return seating.members();
  }

  /** Puts a member into a slot, or nobody. Called by the cell's actor alone. */
  void seat(int slot, @Nullable Member member) {
    seating = seating.with(slot, member);
  }

  /** Seats everybody in the same slots of a wider index. Called by the cell's actor alone. */
  void moveTo(BlockIndex wider) {
    seating = seating.in(wider);
    services.metrics().watch(cell, wider, this);
  }

  /** Has decisions believe the index of each worker as far as its answers confirm it. Called by the cell's actor. */
  void weigh() {
    double[] worth = null;
    @Nullable Member[] members = members();
    for (int slot = 0; slot < members.length; slot++) {
      Member member = members[slot];
      double known = member == null ? 1 : member.truth().trust();
      if (known < 1) {
        if (worth == null) {
          worth = new double[members.length];
          Arrays.fill(worth, 1);
        }
        worth[slot] = known;
      }
    }
    trust = worth;
  }

  /** Chooses workers, books their load and predicts what they will hold, in one step. */
  Decision decide(DecisionRequest request) {
    Workflow workflow = workflows.of(request.profile());
    RoutingContext context = context(request);
    Now now = new Now();
    Recorder recorder = services.decisions().samples(request.requestId()) ? now.recorder() : null;
    try {
      Planning planning = now.plan(workflow, context, request, recorder);
      for (int again = 0; again < FULL_UNDER_WAY && now.crowdedOut(planning); again++) {
        now = new Now();
        recorder = recorder == null ? null : now.recorder();
        planning = now.plan(workflow, context, request, recorder);
      }
      Decision decision = decision(planning, now, request);
      return recorder == null ? decision : recorded(decision, recorder, request);
    } finally {
      now.leave();
    }
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
  DecisionRecord explain(DecisionRequest request) {
    Now now = new Now();
    Recorder recorder = now.recorder();
    try {
      Planning planning =
          Passes.explain(
              workflows.of(request.profile()), now, context(request), now.again(request), recorder::pass);
      return switch (planning) {
        case Planning.Made made -> recorder.planned(request, made.reason(), made.plan().steps());
        case Planning.None none -> recorder.refused(request, noWorker(none));
      };
    } finally {
      now.leave();
    }
  }

  private Decision decision(Planning planning, Now now, DecisionRequest request) {
    return switch (planning) {
      case Planning.Made made -> planned(made, now, request);
      case Planning.None none -> noWorker(none);
    };
  }

  /** Records a decision that has been made. */
  private Decision recorded(Decision decision, Recorder recorder, DecisionRequest request) {
    DecisionLog log = services.decisions();
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

  private static Decision planned(Planning.Made made, Now now, DecisionRequest request) {
    List<Decision.Chosen> steps = new ArrayList<>();
    int guessed = 0;
    for (int i = 0; i < made.chosen().size(); i++) {
      Selection.Chosen chosen = made.chosen().get(i);
      Member booked = now.booked(chosen.slot());
      BookedReservation reservation = new BookedReservation(booked, chosen, request);
      Forecast forecast = reservation.forecast();
      now.predicted(forecast, request.chain(), chosen.slot());
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

  private boolean knowsItsWorkers() {
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

  /** The cell's workers with their state. */
  List<WorkerStatus> workers() {
    List<WorkerStatus> workers = new ArrayList<>();
    for (Member member : members()) {
      if (member != null) {
        workers.add(member.status(cell));
      }
    }
    return workers;
  }

  /** The fleet as one decision sees it. */
  private final class Now implements Fleet {
    private final Seating seated = seating;
    private Siblings.@Nullable Stripe stripe;
    private boolean anyFull;

    Recorder recorder() {
      return new Recorder(cell, services.profiles(), seated.index(), seated.members());
    }

    Planning plan(
        Workflow workflow, RoutingContext context, DecisionRequest request, @Nullable Recorder recorder) {
      return recorder == null
          ? Passes.plan(workflow, this, context, again(request))
          : Passes.plan(workflow, this, context, again(request), recorder::pass);
    }

    @Override
    public int slots() {
      return seated.members().length;
    }

    @Override
    public void snapshot(Candidates candidates) {
      candidates.workers = seated.workers();
      @Nullable Member[] members = seated.members();
      Arrays.fill(candidates.live, 0);
      long now = services.nanos().getAsLong();
      for (int slot = 0; slot < members.length; slot++) {
        Member member = members[slot];
        if (member == null || !member.routable(now)) {
          continue;
        }
        WorkerLoad load = member.load();
        candidates.live[slot >>> 6] |= 1L << slot;
        candidates.inFlight[slot] = load.inFlight();
        anyFull |= load.isFull();
        candidates.pendingTokens[slot] = load.pendingTokens();
        candidates.queueMs[slot] = load.queueMs();
        candidates.contextTokens[slot] = load.contextTokens();
        EngineReport report = member.report();
        candidates.waiting[slot] = report.waiting();
        candidates.kvUse[slot] = report.kvUse();
      }
    }

    /** A later pass of the same decision stays in the stripe of the first: siblings pass both or none. */
    @Override
    public void search(Chain chain, Candidates candidates) {
      int deepest = look(chain, candidates);
      while (stripe == null && deepest < chain.length()) {
        Siblings.Stripe entered = siblings.enter(chain.hashes()[deepest]);
        stripe = entered;
        if (!entered.again()) {
          break;
        }
        int deeper = Math.max(look(chain, candidates), entered.unseen(chain, candidates));
        if (deeper <= deepest) {
          break;
        }
        deepest = deeper;
        leave();
      }
      discount(candidates);
    }

    @Override
    public int tiers(Chain chain, int slot, int[] blocks) {
      return seated.index().tiers(chain, slot, blocks);
    }

    /** Fills the depths and returns the greatest of a worker that has room. */
    private int look(Chain chain, Candidates candidates) {
      int deepest = seated.index().search(chain, candidates.live, candidates.depth);
      if (anyFull && deepest > 0) {
        deepest = 0;
        for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
          if (candidates.inFlight[slot] < candidates.workers[slot].maxInFlight()) {
            deepest = Math.max(deepest, candidates.depth[slot]);
          }
        }
      }
      return deepest;
    }

    /**
     * Whether the choice fell on a worker that has less of the prompt than one that was filled meanwhile, while
     * siblings may be making the same choice: then nothing is booked any more, and all look again.
     */
    boolean crowdedOut(Planning planning) {
      if (stripe != null || !(planning instanceof Planning.Made made)) {
        return false;
      }
      boolean crowded = false;
      for (Selection.Chosen chosen : made.chosen()) {
        crowded |= chosen.readsPrompt() && chosen.full() > 0 && chosen.depth() < chosen.blocks();
      }
      if (crowded) {
        made.chosen().forEach(chosen -> cancel(chosen.slot(), chosen.booking()));
      }
      return crowded;
    }

    private void discount(Candidates candidates) {
      double[] worth = trust;
      if (worth != null) {
        for (int slot = 0; slot < Math.min(worth.length, candidates.slots()); slot++) {
          candidates.depth[slot] = (int) (candidates.depth[slot] * worth[slot]);
        }
      }
    }

    void predicted(Forecast forecast, Chain chain, int slot) {
      if (stripe != null && forecast.prediction() != null) {
        stripe.predicted(forecast.prediction(), chain, slot);
      }
    }

    /** Lets the next sibling decide. */
    void leave() {
      if (stripe != null) {
        stripe.leave();
        stripe = null;
      }
    }

    @Override
    public boolean reserve(int slot, Booking booking) {
      Member member = seated.members()[slot];
      return member != null && member.routable() && member.load().book(booking);
    }

    @Override
    public void cancel(int slot, Booking booking) {
      WorkerLoad load = booked(slot).load();
      load.settle(booking);
      load.release(booking);
    }

    /** Who was chosen, and load booked on. */
    Member booked(int slot) {
      Member member = seated.members()[slot];
      if (member == null) {
        throw new IllegalStateException("a worker was chosen in slot " + slot + " and nobody sits there");
      }
      return member;
    }

    /** The one step that is wanted anew, with those of the other steps' workers that are still here. */
    Passes.@Nullable Again again(DecisionRequest request) {
      DecisionRequest.Again again = request.again();
      if (again == null) {
        return null;
      }
      Map<String, Worker> placed = new HashMap<>();
      for (Worker worker : seated.workers()) {
        if (worker != null) {
          again.placed().forEach((step, id) -> {
            if (worker.id().equals(id)) {
              placed.put(step, worker);
            }
          });
        }
      }
      return new Passes.Again(again.step(), placed);
    }
  }
}
