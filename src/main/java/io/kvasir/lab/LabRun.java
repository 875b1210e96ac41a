package io.kvasir.lab;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.lab.LabSequence.RequestPhase;
import io.kvasir.lab.rules.PublishedRules;
import io.kvasir.routing.KvPull;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PlanningSession;
import io.kvasir.routing.Profile;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Workflow;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.cost.PrefillSample;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.DoubleAdder;
import org.jspecify.annotations.Nullable;

/**
 * One trace at one load under one profile: a discrete-event simulation. Its events are
 * arrivals of requests, ends of KV transfers and ends of engines' iterations, processed in order of time; iterations
 * come first when several are due at once. Used once, by one thread.
 */
final class LabRun implements LabSequence.Listener {
  private static final long INDEX_BYTES = 4L << 30;

  /** Keeps the engines' random numbers apart from those of the router, which begin with the seed itself. */
  private static final long STALL_SEEDS = 1_000_003;

  /** More than any engine has at once, so that requests queue in engines and no limit favours a profile. */
  private static final int MAX_IN_FLIGHT = 1_000_000;

  private final LabPlan.Run run;
  private final DoubleAdder progress;
  private final WorkloadTrace trace;
  private final LabClock clock = new LabClock();
  private final OutputLengths outputs = new OutputLengths();
  private final CostModel costs;
  private final PublishedRules rules;
  private final LabEngine[] engines;

  /** When each engine's iterations end, {@link LabEngine#NEVER} when none run. */
  private final double[] stepEndsMs;

  private final LabFleet fleet;
  private final SlotWriter[] writers;
  private final IndexFeed feed;
  private final Workflow workflow;
  private final Outcomes outcomes;
  private final GuardedArrivals guarded;
  private final ElasticFleet elastic;
  private final Estimates estimates;
  private final PriorityQueue<PendingArrival> arrivals = new PriorityQueue<>();
  private final PriorityQueue<PendingTransfer> transfers = new PriorityQueue<>();
  private final Map<Integer, PendingDecode> pendingDecodes = new HashMap<>();

  /** The first request that follows a request's answer, and the next one of those; -1 for none. */
  private final int[] firstChild;

  private final int[] nextSibling;

  private record PendingArrival(double atMs, int request) implements Comparable<PendingArrival> {
    @Override
    public int compareTo(PendingArrival other) {
      int byTime = Double.compare(atMs, other.atMs);
      return byTime != 0 ? byTime : Integer.compare(request, other.request);
    }
  }

  /** A prompt on its way from one engine to another. */
  private record PendingTransfer(double atMs, LabSequence sequence) implements Comparable<PendingTransfer> {
    @Override
    public int compareTo(PendingTransfer other) {
      int byTime = Double.compare(atMs, other.atMs);
      return byTime != 0 ? byTime : Integer.compare(sequence.index, other.sequence.index);
    }
  }

  /** A decode step that waits for its prompt. */
  private static final class PendingDecode {
    private final Selection.Chosen decode;
    private @Nullable LabSequence prefill;

    PendingDecode(Selection.Chosen decode) {
      this.decode = decode;
    }
  }

  /** A run that has not started; its progress, up to 1, is added to {@code progress}. */
  LabRun(LabPlan.Run run, DoubleAdder progress) {
    this.run = run;
    this.progress = progress;
    this.trace = run.load().trace();
    SplittableRandom random = new SplittableRandom(run.load().seed());
    LabPlan.Machines machines = run.machines();
    List<EngineChoice.Each> kinds = machines.engines().engines();
    BlockIndex index = new BlockIndex(LabFleet.slotsFor(kinds.size()), INDEX_BYTES);
    Coefficients coefficients = run.router().coefficients();
    List<String> names = kinds.stream().map(engine -> coefficients.known(engine.model().name())).toList();
    this.fleet = new LabFleet(machines.workers(), names, machines.pulls(), MAX_IN_FLIGHT, index);
    IndexMode mode = IndexMode.parse(run.router().index());
    this.writers =
        SlotWriter.open(
            index, kinds.size(), mode, slot -> LabEngine.blocks(kinds.get(slot).model(), trace.blockSize()));
    this.feed = IndexFeed.of(mode, writers, clock, random.split());
    this.engines = new LabEngine[kinds.size()];
    this.stepEndsMs = new double[engines.length];
    Arrays.fill(stepEndsMs, LabEngine.NEVER);
    for (int slot = 0; slot < engines.length; slot++) {
      engines[slot] =
          new LabEngine(
              kinds.get(slot), trace.blockSize(), feed.listener(slot),
              HostMemory.of(machines.hostGigabytes(), kinds.get(slot).model(), trace.blockSize(), writers[slot]),
              machines.stalls(), new SplittableRandom(run.load().seed() * STALL_SEEDS + slot));
    }
    this.costs = coefficients.costs();
    this.rules = new PublishedRules(run.slo().ttftMs());
    this.workflow = workflow(random);
    this.outcomes = new Outcomes(trace, run);
    this.guarded =
        new GuardedArrivals(
            run.router().guard(), trace.requests().size(), machines.engines().kvTokens(), fleet::heldTokens);
    this.elastic =
        new ElasticFleet(run, fleet, engines, costs.decode(machines.engines().first().name()), outputs);
    this.estimates = new Estimates(costs, fleet.engines(), kinds);
    this.firstChild = new int[trace.requests().size()];
    this.nextSibling = new int[firstChild.length];
  }

  private Workflow workflow(SplittableRandom random) {
    Profile profile =
        rules.compile(run.router().profile().config(), costs, outputs).get(run.router().profile().name());
    if (profile == null) {
      throw new IllegalStateException("profile " + run.router().profile().name() + " was there when the plan was made");
    }
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    return profile.workflow(part -> new Selector(part, costs, random, metrics, () -> 0), metrics);
  }

  /** Runs until the last answer is complete. */
  RunReport execute() {
    queueArrivals();
    while (true) {
      int slot = next();
      double endsMs = stepEndsMs[slot];
      double arrivalMs = arrivals.isEmpty() ? LabEngine.NEVER : arrivals.peek().atMs;
      double transferMs = transfers.isEmpty() ? LabEngine.NEVER : transfers.peek().atMs;
      double dueMs = Math.min(Math.min(arrivalMs, transferMs), guarded.nextMs());
      if (elastic.nextMs() < Math.min(dueMs, endsMs) && Math.min(dueMs, endsMs) < LabEngine.NEVER) {
        clock.nowMs = elastic.nextMs();
        elastic.tick(clock.nowMs);
      } else if (dueMs < endsMs) {
        clock.nowMs = dueMs;
        if (transferMs == dueMs) {
          copied(transfers.remove().sequence);
        } else if (arrivalMs == dueMs) {
          arrive(arrivals.remove().request);
        } else {
          catchUp();
          guarded.release(clock.nowMs).forEach(index -> route(index, chain(trace.requests().get(index))));
        }
      } else if (endsMs < LabEngine.NEVER) {
        clock.nowMs = endsMs;
        engines[slot].endStep();
        stepEndsMs[slot] = engines[slot].stepEndsMs();
      } else {
        return outcomes.report(run, elastic.used(clock.nowMs), estimates.report());
      }
    }
  }

  private void queueArrivals() {
    Arrays.fill(firstChild, LabRequest.NO_PARENT);
    List<LabRequest> requests = trace.requests();
    for (int i = requests.size() - 1; i >= 0; i--) {
      LabRequest request = requests.get(i);
      if (request.parent() == LabRequest.NO_PARENT) {
        arrivals.add(new PendingArrival(request.arrivalMs(), i));
      } else {
        nextSibling[i] = firstChild[request.parent()];
        firstChild[request.parent()] = i;
      }
    }
  }

  /** The engine whose iterations end first. */
  private int next() {
    int first = 0;
    for (int slot = 1; slot < stepEndsMs.length; slot++) {
      if (stepEndsMs[slot] < stepEndsMs[first]) {
        first = slot;
      }
    }
    return first;
  }

  private void arrive(int index) {
    LabRequest request = trace.requests().get(index);
    outcomes.arrived(index, clock.nowMs);
    if (Arrays.stream(engines).noneMatch(engine -> engine.fits(request))) {
      reject(index);
      return;
    }
    catchUp();
    Chain chain = chain(request);
    if (guarded.arrive(index, request, chain, clock.nowMs)) {
      route(index, chain);
    }
  }

  private void catchUp() {
    feed.catchUp(clock.nowMs);
    for (SlotWriter writer : writers) {
      writer.expire(clock.nowMs);
    }
  }

  private Chain chain(LabRequest request) {
    return new Chain(request.chain().first(trace.promptBlocks(request)), trace.blockSize());
  }

  private void route(int index, Chain chain) {
    LabRequest request = trace.requests().get(index);
    outcomes.went(index, clock.nowMs);
    RoutingContext context =
        new RoutingContext("lab", LabFleet.MODEL, Role.BOTH, Set.of())
            .put(Slots.PROMPT_TOKENS, (long) request.promptTokens())
            .put(Slots.CHAIN, chain)
            .put(Slots.SESSION_KEY, request.session());
    switch (PlanningSession.plan(workflow, fleet, context, null)) {
      case PlanResult.PlanFound plan -> begin(index, request, chain, plan.chosen());
      case PlanResult.NoPlan _ -> reject(index);
    }
  }

  /** Starts a plan: its first worker computes the prompt; the second one, if any, follows. */
  private void begin(int index, LabRequest request, Chain chain, List<Selection.Chosen> chosen) {
    Selection.Chosen first = chosen.getFirst();
    for (Selection.Chosen one : chosen) {
      if (!engines[one.slot()].fits(request)) {
        chosen.forEach(each -> fleet.cancel(each.slot(), each.booking()));
        reject(index);
        return;
      }
    }
    rules.sent(index);
    if (first.pull() == null) {
      writers[first.slot()].routed(chain, fleet.queueMs(first.slot()), clock.nowMs);
    }
    RequestPhase phase = RequestPhase.WHOLE;
    if (chosen.size() > 1) {
      phase = RequestPhase.PREFILL;
      pendingDecodes.put(index, new PendingDecode(chosen.getLast()));
    }
    submit(index, phase, request, first, pulledTokens(first, chain));
  }

  /** What an engine takes from another one of a prompt: what that has still got. */
  private int pulledTokens(Selection.Chosen chosen, Chain chain) {
    KvPull pull = chosen.pull();
    return pull == null ? 0 : Math.min(pull.tokens(), engines[fleet.slot(pull.worker())].heldTokens(chain));
  }

  private LabSequence submit(
      int index, RequestPhase phase, LabRequest request, Selection.Chosen chosen, int remoteTokens) {
    LabSequence sequence =
        new LabSequence(index, chosen.slot(), phase, request, chosen.booking(), chosen.queueMs(), remoteTokens, this);
    engines[chosen.slot()].submit(sequence, clock.nowMs);
    stepEndsMs[chosen.slot()] = engines[chosen.slot()].stepEndsMs();
    return sequence;
  }

  @Override
  public void load(LabSequence sequence, int tokens) {
    transfers.add(new PendingTransfer(clock.nowMs + LabFleet.LINK.transferMs(tokens), sequence));
  }

  /** Handles the end of a transfer: the prefill engine releases the prompt. */
  private void copied(LabSequence sequence) {
    PendingDecode pending = pendingDecodes.get(sequence.index);
    if (pending != null && pending.prefill != null) {
      engines[pending.prefill.slot].release(pending.prefill);
    }
    engines[sequence.slot].loaded(sequence, clock.nowMs);
    stepEndsMs[sequence.slot] = engines[sequence.slot].stepEndsMs();
  }

  private void reject(int index) {
    outcomes.rejected(index);
    finish(index);
  }

  @Override
  public void firstToken(LabSequence sequence) {
    if (sequence.phase == RequestPhase.PREFILL) {
      fleet.settle(sequence.slot, sequence.booking());
      return;
    }
    outcomes.firstToken(sequence.index, clock.nowMs);
    rules.firstToken(sequence.index, outcomes.sentTtftMs(sequence.index));
    boolean decoded = pendingDecodes.remove(sequence.index) != null;
    if (decoded || sequence.isCopied()) {
      writers[sequence.slot].routed(chain(sequence.request()), fleet.queueMs(sequence.slot), clock.nowMs);
    }
    fleet.settle(sequence.slot, sequence.booking());
    if (sequence.phase == RequestPhase.WHOLE && run.router().coefficients().learnt()) {
      int prompt = sequence.request().promptTokens();
      costs.observe(
          fleet.engine(sequence.slot),
          new PrefillSample(
              prompt, prompt - sequence.cachedTokens(), sequence.queueMs(), outcomes.sentTtftMs(sequence.index)));
      estimates.look(clock.nowMs);
    }
  }

  @Override
  public void ended(LabSequence sequence) {
    if (sequence.phase == RequestPhase.PREFILL) {
      fleet.release(sequence.slot, sequence.booking());
      startDecode(sequence);
      return;
    }
    outcomes.ended(sequence, clock.nowMs);
    fleet.release(sequence.slot, sequence.booking());
    guarded.ended(sequence.index, sequence.request(), clock.nowMs);
    outputs.observe(LabFleet.MODEL, sequence.request().outputTokens());
    finish(sequence.index);
  }

  /** Submits the decode step of a computed prompt, which copies it. */
  private void startDecode(LabSequence prefill) {
    outcomes.prefilled(prefill);
    PendingDecode pending = pendingDecodes.get(prefill.index);
    if (pending == null) {
      throw new IllegalStateException("a prompt was computed without a decode step that needs it");
    }
    pending.prefill = prefill;
    submit(
        prefill.index, RequestPhase.DECODE, prefill.request(), pending.decode, prefill.request().promptTokens());
  }

  /** Handles the end of a request: those that follow it arrive after their think time. */
  private void finish(int index) {
    progress.add(1.0 / firstChild.length);
    for (int i = firstChild[index]; i != LabRequest.NO_PARENT; i = nextSibling[i]) {
      arrivals.add(new PendingArrival(clock.nowMs + trace.requests().get(i).thinkMs(), i));
    }
  }
}
