package io.kvasir.routing;

import io.kvasir.index.Chain;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;
import io.kvasir.time.NanoClock;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
import java.util.random.RandomGenerator.SplittableGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One pass of a profile over a fleet: prepare what did not come prepared, filter, search, score, pick, and
 * book the load in the same step. A worker that is full when its load is to be booked yields to the next.
 *
 * <p>A selector serves one fleet, since plugins may remember whose turn it is. It may be called from any
 * number of threads; it holds no lock and allocates nothing per candidate. The columns it works in are handed
 * from decision to decision.
 */
public final class Selector {
  private final Profile profile;
  private final Filter[] filters;
  private final ScoreSum scores;
  private final Picker picker;
  private final FailurePolicy onFailure;
  private final PerMembership<FleetCosts> costs;
  private final NanoClock clock;
  private final Scratch.Pool scratches;
  private final RoutingMetrics.Counts counts;

  /** Who decides when the scorers do not know what they go by; null when they decide all the same. */
  private final @Nullable Selector otherwise;

  /**
   * A selector for one fleet.
   *
   * @param costs what prompts cost engines, for the load that is booked
   * @param random source of all randomness; the same seed and order of requests on one thread give the same choices
   * @param clock nanoseconds from any origin, for the metrics of stages and for plugins that remember for a time
   */
  public Selector(
      Profile profile, CostModel costs, SplittableGenerator random, RoutingMetrics metrics, NanoClock clock) {
    this.profile = profile;
    this.filters = profile.filters();
    this.scores = profile.scores();
    this.picker = profile.picker();
    this.onFailure = profile.executionPolicy().onFailure();
    this.costs = PerMembership.costs(costs);
    this.clock = clock;
    this.scratches = new Scratch.Pool(random, metrics, clock);
    this.counts = metrics.counts(profile.name());
    Profile other = profile.otherwise();
    this.otherwise = other == null ? null : new Selector(other, costs, random.split(), metrics, clock);
  }

  /** The profile it follows. */
  public Profile profile() {
    return profile;
  }

  /**
   * Chooses a worker for the request and books its load on the fleet. Never throws for want of a worker. Where the
   * profile left the decision to another, the selection bears the name of that one.
   */
  public Selection select(Fleet fleet, RoutingContext context) {
    Selection selection = pass(fleet, context, null, false);
    return selection == null ? left(context).select(fleet, context) : count(selection);
  }

  /** The same, telling how the choice came about: for the sampled log, since it costs more than the choice. */
  public Selection select(Fleet fleet, RoutingContext context, Consumer<Explanation> log) {
    ExplanationRecorder trace = new ExplanationRecorder(profile);
    Selection selection = pass(fleet, context, trace, false);
    if (selection == null) {
      return left(context).select(fleet, context, log);
    }
    log.accept(trace.explanation(context, count(selection)));
    return selection;
  }

  /** A dry run: decides as {@link #select} would, books nothing, and no plugin remembers it. */
  public Explanation explain(Fleet fleet, RoutingContext context) {
    ExplanationRecorder trace = new ExplanationRecorder(profile);
    Selection selection = pass(fleet, context, trace, true);
    return selection == null ? other(context).explain(fleet, context) : trace.explanation(context, selection);
  }

  private Selector left(RoutingContext context) {
    Selector other = other(context);
    counts.countDelegated(other.profile.name());
    return other;
  }

  private Selector other(RoutingContext context) {
    if (otherwise == null) {
      throw new IllegalStateException("profile \"" + profile + "\" leaves its decisions to nobody");
    }
    context.note("otherwise", otherwise.profile.name());
    return otherwise;
  }

  private Selection count(Selection selection) {
    switch (selection) {
      case Chosen chosen -> {
        counts.chosen().inc();
        if (chosen.full() > 0) {
          counts.full().inc(chosen.full());
        }
      }
      case None(UnmetNeed want, var _) -> counts.none(want);
    }
    return selection;
  }

  /** Null when another profile has to decide. */
  private @Nullable Selection pass(Fleet fleet, RoutingContext context, @Nullable ExplanationRecorder trace,
      boolean dryRun) {
    Scratch scratch = scratches.acquire(fleet.slots());
    try {
      context.begin(scratch.random, clock, dryRun);
      return pass(fleet, context, scratch, trace);
    } finally {
      scratch.candidates.bind(null, Chain.EMPTY);
      scratches.release(scratch);
    }
  }

  private @Nullable Selection pass(Fleet fleet, RoutingContext context, Scratch scratch,
      @Nullable ExplanationRecorder trace) {
    Selection selection = pass(fleet, context, scratch, trace, null);
    if (selection instanceof None(UnmetNeed want, var _) && want != UnmetNeed.LIVE) {
      BitSet aside = new BitSet(filters.length);
      for (int i = 0; i < filters.length; i++) {
        aside.set(i, filters[i].relax(context));
      }
      return aside.isEmpty() ? selection : pass(fleet, context, scratch, trace, aside);
    }
    return selection;
  }

  /** One pass without the filters that are {@code aside}. */
  private @Nullable Selection pass(
      Fleet fleet, RoutingContext context, Scratch scratch, @Nullable ExplanationRecorder trace,
      @Nullable BitSet aside) {
    StageClock clock = scratch.clock;
    Candidates candidates = scratch.candidates;
    clock.start();
    profile.fillMissing(context);
    clock.endPhase(RoutingMetrics.DecisionPhase.PREPARE);
    fleet.snapshot(candidates);
    clock.endPhase(RoutingMetrics.DecisionPhase.SNAPSHOT);
    int live = candidates.count();
    if (trace != null) {
      trace.recordSnapshot(candidates);
    }
    if (live == 0) {
      return new None(UnmetNeed.LIVE, "no worker " + UnmetNeed.LIVE.description());
    }
    None none = filter(context, candidates, trace, live, false, aside);
    if (none != null) {
      return none;
    }
    clock.endPhase(RoutingMetrics.DecisionPhase.FILTER);
    Chain chain = context.get(Slots.CHAIN);
    if (chain.length() == 0) {
      Arrays.fill(candidates.depth, 0);
    } else {
      fleet.search(chain, candidates);
    }
    candidates.bind(fleet, chain);
    Arrays.fill(candidates.loadable, 0);
    clock.endPhase(RoutingMetrics.DecisionPhase.SEARCH);
    none = filter(context, candidates, trace, live, true, aside);
    if (none != null) {
      return none;
    }
    if (otherwise != null && !scores.hasInputs(context, candidates)) {
      return null;
    }
    scores.score(context, candidates, scratch.scores, scratch.column, trace);
    clock.endPhase(RoutingMetrics.DecisionPhase.SCORE);
    if (trace != null) {
      trace.recordTotals(candidates, scratch.scores);
    }
    Selection selection = pick(fleet, context, scratch, chain);
    clock.endPhase(RoutingMetrics.DecisionPhase.PICK);
    return selection;
  }

  /** The filters that look at depths, or those that do not. */
  private @Nullable None filter(
      RoutingContext context,
      Candidates candidates,
      @Nullable ExplanationRecorder trace,
      int live,
      boolean searched,
      @Nullable BitSet aside) {
    for (int i = 0; i < filters.length; i++) {
      if (filters[i].afterSearch() != searched || (aside != null && aside.get(i))) {
        continue;
      }
      filters[i].filter(context, candidates);
      if (trace != null) {
        trace.recordFiltered(i, candidates);
      }
      if (candidates.count() == 0) {
        UnmetNeed want = filters[i].unmetNeed();
        return new None(want,
            "none of " + live + (live == 1 ? " live worker " : " live workers ") + want.description());
      }
    }
    return null;
  }

  private Selection pick(Fleet fleet, RoutingContext context, Scratch scratch, Chain chain) {
    Candidates candidates = scratch.candidates;
    int[] ranked = scratch.ranked;
    int count = candidates.count();
    int full = 0;
    while (full < count) {
      int picked = picker.pick(context, candidates, scratch.scores, ranked);
      for (int i = 0; i < picked; i++) {
        int slot = ranked[i];
        Booking reading = reading(context, candidates, slot, chain);
        Booking booking = takes(context, candidates, slot, reading) ? reading.afterTransfer() : reading;
        if (context.dryRun() || fleet.reserve(slot, booking)) {
          if (!context.dryRun()) {
            scores.onChosen(context, candidates, slot);
            if (i > 0) {
              picker.onAlternativeChosen(context, candidates, slot);
            }
          }
          return new Chosen(
              profile.name(),
              context.role(),
              slot,
              candidates.workers[slot],
              alternatives(candidates, ranked, i + 1, picked),
              booking,
              reading,
              candidates.queueMs[slot],
              candidates.depth[slot],
              chain.length(),
              reading.promptTokens() - reading.uncachedTokens(),
              count,
              full,
              onFailure);
        }
        candidates.remove(slot);
        full++;
      }
      if (picked == 0) {
        throw new IllegalStateException(
            "the picker of profile \"" + profile + "\" chose none of " + candidates.count() + " candidates");
      }
    }
    return new None(UnmetNeed.ROOM,
        "none of " + count + (count == 1 ? " worker " : " workers ") + UnmetNeed.ROOM.description());
  }

  /** Whether a decode worker takes the prompt from the worker that another step has. */
  private boolean takes(RoutingContext context, Candidates candidates, int slot, Booking reading) {
    return context.role() == Role.DECODE
        && context.has(Slots.PARTNER)
        && context
            .get(Slots.PARTNER)
            .shouldTransferTo(candidates, costs.of(candidates), slot, reading.uncachedTokens(), reading.promptTokens());
  }

  private Booking reading(RoutingContext context, Candidates candidates, int slot, Chain chain) {
    PromptSize prompt = new PromptSize(Slots.promptTokens(context), chain.blockSize());
    int uncached = prompt.uncached(candidates.depth[slot], candidates.loadable[slot]);
    double prefillMs = costs.of(candidates).prefillMs(slot, uncached, prompt.tokens());
    return new Booking(prompt.tokens(), uncached, Math.max(1, Math.round(prefillMs * 1e3)));
  }

  private static List<Worker> alternatives(Candidates candidates, int[] ranked, int from, int to) {
    Worker[] alternatives = new Worker[to - from];
    for (int i = 0; i < alternatives.length; i++) {
      alternatives[i] = candidates.workers[ranked[from + i]];
    }
    return List.of(alternatives);
  }
}
