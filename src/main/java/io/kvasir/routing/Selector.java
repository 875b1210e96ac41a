package io.kvasir.routing;

import static java.util.stream.Collectors.joining;

import io.kvasir.index.Chain;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;
import io.kvasir.time.NanoClock;
import java.util.Arrays;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.random.RandomGenerator.SplittableGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The selector of a profile for one fleet: a pass prepares the slots that were not transferred, filters, searches the
 * index, scores, picks, and books the load. When a worker is full at booking, the next in rank is tried; when the
 * request would be held for what is queued there, one that begins it earlier.
 *
 * <p>A selector serves one fleet, since plugins may keep state of it. Thread-safe, without locks and without allocation
 * per candidate; decisions reuse their buffers.
 */
public final class Selector {
  private final Profile profile;
  private final Filter[] filters;
  private final ScoreSum scores;
  private final PickStage pickStage;
  private final PerMembership<FleetCosts> costs;
  private final PerMembership<PullSources> pullSources = new PerMembership<>(PullSources::of);
  private final NanoClock clock;
  private final Scratch.Pool scratches;
  private final RoutingMetrics.Counts counts;

  /** The selector that decides when scorers lack their inputs; null when there is none. */
  private final @Nullable Selector otherwise;

  /**
   * A selector for one fleet.
   *
   * @param costs the engines' costs, for the load that is booked
   * @param random source of all randomness; the same seed and order of requests on one thread give the same choices
   * @param clock nanoseconds from any origin, for the metrics of stages and for plugins that remember for a time
   */
  public Selector(
      Profile profile, CostModel costs, SplittableGenerator random, RoutingMetrics metrics, NanoClock clock) {
    this.profile = profile;
    this.filters = profile.filters();
    this.scores = profile.scores();
    this.costs = PerMembership.costs(costs);
    this.pickStage =
        new PickStage(
            profile.name(), scores, profile.picker(), profile.executionPolicy().onFailure(), this.costs);
    this.clock = clock;
    this.scratches = new Scratch.Pool(random, metrics, clock);
    this.counts = metrics.counts(profile.name());
    Profile other = profile.otherwise();
    this.otherwise = other == null ? null : new Selector(other, costs, random.split(), metrics, clock);
  }

  /** The selector's profile. */
  public Profile profile() {
    return profile;
  }

  /**
   * Chooses a worker for the request and books its load on the fleet. Where the profile delegated the decision to
   * another, the selection has the name of that one.
   */
  public Selection select(Fleet fleet, RoutingContext context) {
    Selection selection = pass(fleet, context, null, false);
    return selection == null ? delegate(context).select(fleet, context) : count(selection);
  }

  /**
   * Chooses a worker as {@link #select}, and passes the explanation to {@code log}, which costs more than the choice.
   */
  public Selection select(Fleet fleet, RoutingContext context, Consumer<Explanation> log) {
    ExplanationRecorder trace = new ExplanationRecorder(profile);
    Selection selection = pass(fleet, context, trace, false);
    if (selection == null) {
      return delegate(context).select(fleet, context, log);
    }
    log.accept(trace.explanation(context, count(selection)));
    return selection;
  }

  /** Decides in a dry run: as {@link #select} would, but nothing is booked and no plugin changes its state. */
  public Explanation explain(Fleet fleet, RoutingContext context) {
    ExplanationRecorder trace = new ExplanationRecorder(profile);
    Selection selection = pass(fleet, context, trace, true);
    return selection == null ? other(context).explain(fleet, context) : trace.explanation(context, selection);
  }

  private Selector delegate(RoutingContext context) {
    Selector other = other(context);
    counts.countDelegated(other.profile.name());
    return other;
  }

  private Selector other(RoutingContext context) {
    if (otherwise == null) {
      throw new IllegalStateException("profile \"" + profile + "\" has no \"otherwise\" to delegate to");
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
        if (chosen.busy() != null) {
          counts.busy().inc();
        }
      }
      case None(UnmetNeed need, var _) -> counts.none(need);
    }
    return selection;
  }

  /** Runs a pass; null when the profile delegates the decision. */
  private @Nullable Selection pass(Fleet fleet, RoutingContext context, @Nullable ExplanationRecorder trace,
      boolean dryRun) {
    Scratch scratch = scratches.acquire(fleet.slots());
    try {
      context.begin(scratch.random, clock, dryRun);
      return pass(fleet, context, scratch, trace);
    } finally {
      scratch.candidates.bind(null, Chain.EMPTY, List.of());
      scratches.release(scratch);
    }
  }

  private @Nullable Selection pass(Fleet fleet, RoutingContext context, Scratch scratch,
      @Nullable ExplanationRecorder trace) {
    Selection selection = pass(fleet, context, scratch, trace, null);
    if (selection instanceof None(UnmetNeed need, var _) && need != UnmetNeed.LIVE) {
      BitSet relaxed = new BitSet(filters.length);
      for (int i = 0; i < filters.length; i++) {
        relaxed.set(i, filters[i].relax(context));
      }
      return relaxed.isEmpty() ? selection : pass(fleet, context, scratch, trace, relaxed);
    }
    return selection;
  }

  /** Runs a pass without the {@code relaxed} filters. */
  private @Nullable Selection pass(
      Fleet fleet, RoutingContext context, Scratch scratch, @Nullable ExplanationRecorder trace,
      @Nullable BitSet relaxed) {
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
    PullSources sources = pullSources.of(candidates);
    if (!sources.isEmpty()) {
      sources.note(candidates, context.excluded());
    }
    None none = filter(context, candidates, trace, live, false, relaxed);
    if (none != null) {
      return none;
    }
    clock.endPhase(RoutingMetrics.DecisionPhase.FILTER);
    Chain chain = context.get(Slots.CHAIN);
    candidates.bind(fleet, chain, context.renditions());
    if (chain.length() == 0 && context.renditions().isEmpty()) {
      Arrays.fill(candidates.depth, 0);
    } else {
      fleet.search(chain, candidates);
      RequestShape shape = Slots.requestShape(context);
      if (shape.anyRank()) {
        forgetHiddenRanks(shape, candidates);
      }
    }
    candidates.clearLoadable();
    if (!sources.isEmpty() && Slots.requestShape(context).divisible()) {
      sources.fill(fleet, context, candidates, costs.of(candidates));
    }
    clock.endPhase(RoutingMetrics.DecisionPhase.SEARCH);
    none = filter(context, candidates, trace, live, true, relaxed);
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
    Selection selection = pickStage.pick(fleet, context, scratch);
    clock.endPhase(RoutingMetrics.DecisionPhase.PICK);
    return selection;
  }

  /** Which rank of such a worker's pod computes the prompt is unknown, and so what it will find. */
  private static void forgetHiddenRanks(RequestShape shape, Candidates candidates) {
    for (int slot = 0; slot < candidates.depth.length; slot++) {
      if (candidates.has(slot) && shape.hidesRank(candidates.workers[slot])) {
        candidates.depth[slot] = 0;
      }
    }
  }

  /** Applies the filters that run after the index search, or those before it; null while candidates remain. */
  private @Nullable None filter(
      RoutingContext context,
      Candidates candidates,
      @Nullable ExplanationRecorder trace,
      int live,
      boolean searched,
      @Nullable BitSet relaxed) {
    for (int i = 0; i < filters.length; i++) {
      if (filters[i].afterSearch() != searched || (relaxed != null && relaxed.get(i))) {
        continue;
      }
      filters[i].filter(context, candidates);
      if (trace != null) {
        trace.recordFiltered(i, candidates);
      }
      if (candidates.count() == 0) {
        UnmetNeed need = filters[i].unmetNeed();
        return new None(need,
            "none of " + live + (live == 1 ? " live worker " : " live workers ") + need.description()
                + (need == UnmetNeed.ROLE ? roles(context.role(), candidates) : ""));
      }
    }
    return null;
  }

  /** Which role was asked for, and which the fleet's workers have. */
  private static String roles(Role asked, Candidates candidates) {
    Set<Role> held = EnumSet.noneOf(Role.class);
    for (Worker worker : candidates.workers) {
      if (worker != null) {
        held.add(worker.role());
      }
    }
    String roles = ", " + asked.label() + ": they have " + held.stream().map(Role::label).collect(joining(" and "));
    return asked == Role.BOTH && held.containsAll(List.of(Role.PREFILL, Role.DECODE))
        ? roles + ", among which the profile " + RoutingPlan.PREFILL_DECODE_WORKFLOW + " divides requests"
        : roles;
  }
}
