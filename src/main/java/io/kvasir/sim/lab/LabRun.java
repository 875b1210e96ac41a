package io.kvasir.sim.lab;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.routing.Profile;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.cost.Prefill;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.sim.engine.EngineModel;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Arrays;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.DoubleAdder;

/**
 * One trace at one load under one profile: a discrete-event simulation. Two kinds of things happen, a
 * request arrives and an engine's iteration ends; the earlier one is next, iterations first when both are
 * due at once. Used once, by one thread.
 */
final class LabRun implements LabSequence.Listener {
  private static final long INDEX_BYTES = 4L << 30;

  /** More than any engine has at once, so that requests queue in engines and no profile is helped by a limit. */
  private static final int MAX_IN_FLIGHT = 1_000_000;

  private final LabPlan.Run run;
  private final DoubleAdder progress;
  private final Trace trace;
  private final SimClock clock = new SimClock();
  private final OutputLengths outputs = new OutputLengths();
  private final CostModel costs;
  private final LabEngine[] engines;
  private final SimFleet fleet;
  private final SlotWriter[] writers;
  private final IndexFeed feed;
  private final Selector selector;
  private final Outcomes outcomes;
  private final PriorityQueue<Arrival> arrivals = new PriorityQueue<>();

  /** For each request the first that waits for its answer, and for each of those the next; -1 for none. */
  private final int[] follower;

  private final int[] nextFollower;

  private record Arrival(double atMs, int request) implements Comparable<Arrival> {
    @Override
    public int compareTo(Arrival other) {
      int byTime = Double.compare(atMs, other.atMs);
      return byTime != 0 ? byTime : Integer.compare(request, other.request);
    }
  }

  /** A run about to begin; as it goes on it adds up to 1 in {@code progress}. */
  LabRun(LabPlan.Run run, DoubleAdder progress) {
    this.run = run;
    this.progress = progress;
    this.trace = run.source().at(run.scale(), run.seed());
    SplittableRandom random = new SplittableRandom(run.seed());
    BlockIndex index = new BlockIndex(SimFleet.slotsFor(run.workers()), INDEX_BYTES);
    EngineModel model = EngineModel.named(run.engine());
    this.fleet = new SimFleet(run.workers(), run.engine(), MAX_IN_FLIGHT, index);
    IndexMode mode = IndexMode.parse(run.index());
    this.writers = SlotWriter.open(index, run.workers(), mode, LabEngine.blocks(model, trace.blockSize()));
    this.feed = IndexFeed.of(mode, writers, clock, random.split());
    this.engines = new LabEngine[run.workers()];
    for (int slot = 0; slot < engines.length; slot++) {
      engines[slot] = new LabEngine(model, trace.blockSize(), feed.listener(slot));
    }
    this.costs = run.coefficients().costs();
    this.selector = selector(random);
    this.outcomes = new Outcomes(trace, run.workers());
    this.follower = new int[trace.requests().size()];
    this.nextFollower = new int[follower.length];
  }

  private Selector selector(SplittableRandom random) {
    Profile profile =
        new ProfileCompiler(BuiltInPlugins.registry(costs, outputs))
            .compile(run.profile().config())
            .get(run.profile().name());
    if (profile == null) {
      throw new IllegalStateException("profile " + run.profile().name() + " was there when the plan was made");
    }
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    return new Selector(profile, costs, random, metrics, () -> 0);
  }

  /** Runs until the last answer is complete. */
  RunReport execute() {
    queueArrivals();
    while (true) {
      int slot = next();
      double stepEndsMs = engines[slot].stepEndsMs();
      Arrival arrival = arrivals.peek();
      if (arrival != null && arrival.atMs < stepEndsMs) {
        arrivals.remove();
        clock.nowMs = arrival.atMs;
        arrive(arrival.request);
      } else if (stepEndsMs < LabEngine.NEVER) {
        clock.nowMs = stepEndsMs;
        engines[slot].endStep();
      } else {
        return outcomes.report(run, run.slo());
      }
    }
  }

  private void queueArrivals() {
    Arrays.fill(follower, LabRequest.NOTHING);
    List<LabRequest> requests = trace.requests();
    for (int i = requests.size() - 1; i >= 0; i--) {
      LabRequest request = requests.get(i);
      if (request.after() == LabRequest.NOTHING) {
        arrivals.add(new Arrival(request.arrivalMs(), i));
      } else {
        nextFollower[i] = follower[request.after()];
        follower[request.after()] = i;
      }
    }
  }

  /** The engine whose iteration ends first. */
  private int next() {
    int first = 0;
    double firstMs = engines[0].stepEndsMs();
    for (int slot = 1; slot < engines.length; slot++) {
      double endsMs = engines[slot].stepEndsMs();
      if (endsMs < firstMs) {
        firstMs = endsMs;
        first = slot;
      }
    }
    return first;
  }

  private void arrive(int index) {
    LabRequest request = trace.requests().get(index);
    outcomes.arrived(index, clock.nowMs);
    if (!engines[0].holds(request)) {
      reject(index);
      return;
    }
    feed.catchUp(clock.nowMs);
    for (SlotWriter writer : writers) {
      writer.expire(clock.nowMs);
    }
    Chain chain = new Chain(Arrays.copyOf(request.chain(), trace.promptBlocks(request)), trace.blockSize());
    RoutingContext context =
        new RoutingContext("lab", SimFleet.MODEL, Role.BOTH, Set.of())
            .put(Slots.PROMPT_TOKENS, (long) request.promptTokens())
            .put(Slots.CHAIN, chain)
            .put(Slots.SESSION_KEY, request.session());
    switch (selector.select(fleet, context)) {
      case Selection.Chosen chosen -> {
        double queueMs = fleet.queueMs(chosen.slot()) - chosen.booking().prefillMicros() / 1e3;
        writers[chosen.slot()].routed(chain, fleet.queueMs(chosen.slot()), clock.nowMs);
        engines[chosen.slot()].submit(
            new LabSequence(index, chosen.slot(), request, chosen.booking(), queueMs, this), clock.nowMs);
      }
      case Selection.None _ -> reject(index);
    }
  }

  private void reject(int index) {
    outcomes.rejected();
    over(index);
  }

  @Override
  public void firstToken(LabSequence sequence) {
    outcomes.firstToken(sequence.index, clock.nowMs);
    fleet.settle(sequence.slot, sequence.booking());
    if (run.coefficients().learnt()) {
      int prompt = sequence.request().promptTokens();
      costs.observe(
          fleet.deployment(),
          new Prefill(
              prompt, prompt - sequence.cachedTokens(), sequence.queueMs(), outcomes.ttftMs(sequence.index)));
    }
  }

  @Override
  public void ended(LabSequence sequence) {
    outcomes.ended(sequence, clock.nowMs);
    fleet.release(sequence.slot, sequence.booking());
    outputs.answered(SimFleet.MODEL, sequence.request().outputTokens());
    over(sequence.index);
  }

  /** A request is answered or refused: whoever waited for that thinks and goes on. */
  private void over(int index) {
    progress.add(1.0 / follower.length);
    for (int i = follower[index]; i != LabRequest.NOTHING; i = nextFollower[i]) {
      arrivals.add(new Arrival(clock.nowMs + trace.requests().get(i).thinkMs(), i));
    }
  }
}
