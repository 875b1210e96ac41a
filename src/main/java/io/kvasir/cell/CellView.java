package io.kvasir.cell;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Explanation;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Want;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
  private final ProfileSet.Selectors selectors;
  private final Siblings siblings = new Siblings();
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
    this.selectors = services.profiles().selectors();
    this.seating = 
        new Seating(index, new @Nullable Member[index.slots()], new @Nullable Worker[index.slots()]);
    services.metrics().watch(cell, index, this);
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
    Selector selector = selectors.of(request.profile());
    RoutingContext context = context(request);
    Now now = new Now();
    Recorder recorder = services.decisions().samples(request.requestId()) ? now.recorder() : null;
    try {
      Selection selection = now.select(selector, context, recorder);
      for (int again = 0; again < FULL_UNDER_WAY && now.crowdedOut(selection); again++) {
        now = new Now();
        recorder = recorder == null ? null : now.recorder();
        selection = now.select(selector, context, recorder);
      }
      Decision decision = decision(selection, now, request);
      return recorder == null ? decision : recorded(decision, recorder, request);
    } finally {
      now.leave();
    }
  }

  private static RoutingContext context(DecisionRequest request) {
    RoutingContext context =
        new RoutingContext(request.requestId(), request.model(), Role.BOTH, request.excluded())
            .put(Slots.CHAIN, request.chain())
            .put(Slots.PROMPT_TOKENS, (long) request.promptTokens());
    request.prepared().into(context);
    return context;
  }

  /** Tells how a decision would come about: nothing is booked, and no plugin remembers it. */
  DecisionRecord explain(DecisionRequest request) {
    Now now = new Now();
    Recorder recorder = now.recorder();
    try {
      Explanation explanation = selectors.of(request.profile()).explain(now, context(request));
      recorder.pass(explanation);
      return switch (explanation.selection()) {
        case Selection.Chosen chosen ->
            recorder.planned(request, chosen.reason(), List.of(chosen.step(RoutingPlan.WHOLE, null)));
        case Selection.None none -> recorder.refused(request, noWorker(none));
      };
    } finally {
      now.leave();
    }
  }

  private Decision decision(Selection selection, Now now, DecisionRequest request) {
    return switch (selection) {
      case Selection.Chosen chosen -> chosen(chosen, now, request);
      case Selection.None none -> noWorker(none);
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

  private static Decision chosen(Selection.Chosen chosen, Now now, DecisionRequest request) {
    Member booked = now.booked();
    Forecast forecast = booked.predict(request.chain(), chosen.depth());
    now.predicted(forecast, request.chain(), chosen.slot());
    int guessed = chosen.depth() - forecast.confirmed();
    Decision.Chosen whole = new Decision.Chosen(
        chosen.step(RoutingPlan.WHOLE, null),
        new BookedReservation(
            booked, chosen.booking(), chosen.booking(), request.model(), forecast, request.stream()),
        chosen.depth(),
        chosen.predictedCachedTokens(),
        Math.min(chosen.predictedCachedTokens(), forecast.confirmedTokens(chosen.booking().promptTokens())),
        booked.events().suspect());
    return new Decision.Planned(
        "single",
        RoutingPlan.Order.SEQUENTIAL,
        List.of(whole),
        guessed == 0 ? chosen.reason() : chosen.reason() + "; predicted=" + guessed);
  }

  private Decision.NoWorker noWorker(Selection.None none) {
    return none.want() == Want.LIVE && !knowsItsWorkers()
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

  private static Decision.Why why(Selection.None none) {
    return switch (none.want()) {
      // The roster knows the model, so what is missing of it is a worker that lives.
      case LIVE, ROLE, MODEL, ASKED_FOR, UNTRIED -> Decision.Why.NONE_HEALTHY;
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
    private @Nullable Member booked;
    private Siblings.@Nullable Stripe stripe;
    private boolean anyFull;

    Recorder recorder() {
      return new Recorder(cell, services.profiles(), seated.index(), seated.members());
    }

    Selection select(Selector selector, RoutingContext context, @Nullable Recorder recorder) {
      return recorder == null
          ? selector.select(this, context)
          : selector.select(this, context, recorder::pass);
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
      for (int slot = 0; slot < members.length; slot++) {
        Member member = members[slot];
        if (member == null || !member.routable()) {
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

    @Override
    public void search(Chain chain, Candidates candidates) {
      int deepest = look(chain, candidates);
      while (deepest < chain.length()) {
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
    boolean crowdedOut(Selection selection) {
      if (stripe == null
          && selection instanceof Selection.Chosen chosen
          && chosen.full() > 0
          && chosen.depth() < chosen.blocks()) {
        booked().load().settle(chosen.booking());
        booked().load().release(chosen.booking());
        return true;
      }
      return false;
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
      if (member == null || !member.routable() || !member.load().book(booking)) {
        return false;
      }
      booked = member;
      return true;
    }

    Member booked() {
      if (booked == null) {
        throw new IllegalStateException("a worker was chosen and nothing booked on it");
      }
      return booked;
    }
  }
}
