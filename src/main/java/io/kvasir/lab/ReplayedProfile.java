package io.kvasir.lab;

import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.lab.ReplayReport.ChangedDecision;
import io.kvasir.routing.Explanation;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.Profile;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.EngineInstance;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.DecisionRecord.CandidateRecord;
import io.kvasir.telemetry.DecisionRecord.Pass;
import io.kvasir.telemetry.DecisionRecord.WorkerFacts;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The replay of one profile: the production selector over the recorded fleets. One thread. */
final class ReplayedProfile {
  /** Changes that are listed one by one. */
  private static final int CHANGES = 1000;

  private static final double ROUNDING = 1e-9;

  private final String name;
  private final CostModel costs = CostModel.bundled();
  private final OutputLengths outputs = new OutputLengths();
  private final RecordedFleet fleet = new RecordedFleet();
  private final Selector selector;
  private final Map<String, Integer> why = new TreeMap<>();
  private final List<ChangedDecision> changes = new ArrayList<>();
  private int decisions;
  private int changed;
  private long promptTokens;
  private long cachedBefore;
  private long cachedNow;

  ReplayedProfile(LabPlan.ProfileChoice choice, long seed) {
    this.name = choice.name();
    Profile profile =
        new ProfileCompiler(BuiltInPlugins.registry(costs, outputs)).compile(choice.config()).get(name);
    if (profile == null) {
      throw new IllegalStateException("profile " + name + " was there when it was chosen");
    }
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    this.selector = new Selector(profile, costs, new SplittableRandom(seed), metrics, () -> 0);
  }

  /**
   * Replays a decision.
   *
   * @throws IllegalArgumentException when the record is inconsistent
   */
  void replay(DecisionRecord decision) {
    Pass pass = decision.passes().getFirst();
    for (CandidateRecord candidate : pass.candidates()) {
      WorkerFacts facts = candidate.facts();
      String model = facts.models().isEmpty() ? "" : facts.models().getFirst();
      costs.assume(
          new EngineInstance(new Deployment(facts.engine(), model), candidate.worker()), facts.msPerToken(),
          facts.msPerPair());
    }
    outputs.assume(decision.model(), decision.expectedOutputTokens());
    fleet.load(pass.candidates());
    List<Explanation> explanations = new ArrayList<>(1);
    Selection selection = selector.select(fleet, context(decision, pass), explanations::add);
    String chosen = selection instanceof Selection.Chosen one ? one.worker().id() : null;
    count(decision, pass, chosen, explanations.getFirst());
  }

  /** The results so far. */
  ReplayReport.Row row() {
    return new ReplayReport.Row(name, decisions, changed, why, promptTokens, cachedBefore, cachedNow, changes);
  }

  private static RoutingContext context(DecisionRecord decision, Pass pass) {
    Map<String, Long> numbers = new HashMap<>();
    decision.slots().forEach((slot, text) -> {
      if (text.matches("-?\\d{1,18}")) {
        numbers.put(slot, Long.valueOf(text));
      }
    });
    Role role = Role.valueOf(pass.role().toUpperCase(Locale.ROOT));
    RoutingContext context =
        new RoutingContext(decision.requestId(), decision.model(), role, Set.copyOf(decision.excluded()))
            .put(Slots.CHAIN, chain(decision))
            .put(Slots.PROMPT_TOKENS, (long) Math.max(1, decision.promptTokens()));
    new PreparedSlots(decision.slots(), numbers, Map.of()).restoreInto(context);
    return context;
  }

  /** The recorded chain; hashes beyond those recorded are made up, so that no worker holds them. */
  private static Chain chain(DecisionRecord decision) {
    long[] hashes = new long[decision.blocks()];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] =
          i < decision.chain().size()
              ? HexFormat.fromHexDigitsToLong(decision.chain().get(i))
              : BlockHash.chained(hashes[Math.max(0, i - 1)], i);
    }
    return hashes.length == 0 ? Chain.EMPTY : new Chain(hashes, decision.blockSize());
  }

  private void count(DecisionRecord decision, Pass pass, @Nullable String chosen, Explanation explanation) {
    decisions++;
    promptTokens += decision.promptTokens();
    cachedBefore += cached(decision, pass, pass.chosen());
    cachedNow += cached(decision, pass, chosen);
    if (same(pass.chosen(), chosen, explanation)) {
      return;
    }
    changed++;
    String reason = reason(pass.chosen(), chosen, explanation);
    why.merge(reason, 1, Integer::sum);
    if (changes.size() < CHANGES) {
      changes.add(new ChangedDecision(decision.requestId(), pass.chosen(), chosen, reason));
    }
  }

  private static long cached(DecisionRecord decision, Pass pass, @Nullable String worker) {
    for (CandidateRecord candidate : pass.candidates()) {
      if (candidate.worker().equals(worker)) {
        return new PromptSize(Math.max(1, decision.promptTokens()), Math.max(1, decision.blockSize()))
            .cached(candidate.depth());
      }
    }
    return 0;
  }

  /** Whether it is the same worker, or one with the same score: ties are broken at random. */
  private static boolean same(@Nullable String before, @Nullable String now, Explanation explanation) {
    if (before == null || now == null || before.equals(now)) {
      return Objects.equals(before, now);
    }
    Explanation.Candidate one = candidate(explanation, before);
    Explanation.Candidate other = candidate(explanation, now);
    return one != null
        && other != null
        && one.removedBy() == null
        && !one.scores().isEmpty()
        && one.inFlight() == other.inFlight()
        && Math.abs(one.total() - other.total()) <= ROUNDING * Math.max(1, Math.abs(other.total()));
  }

  /** The reason of a change, in short. */
  private static String reason(@Nullable String before, @Nullable String now, Explanation explanation) {
    if (now == null) {
      return "nobody is left: " + explanation.candidates().stream()
          .map(Explanation.Candidate::removedBy)
          .filter(Objects::nonNull)
          .findFirst()
          .map(filter -> "filter " + filter)
          .orElse("no room");
    }
    if (before == null) {
      return "nobody was found before";
    }
    Explanation.Candidate one = candidate(explanation, before);
    Explanation.Candidate other = candidate(explanation, now);
    if (one == null || other == null) {
      return "the worker was not alive";
    }
    if (one.removedBy() != null) {
      return "filter " + one.removedBy();
    }
    String decisive = "picker";
    double gain = ROUNDING;
    for (int i = 0; i < one.scores().size(); i++) {
      double more = other.scores().get(i).contribution() - one.scores().get(i).contribution();
      if (more > gain) {
        gain = more;
        decisive = "scorer " + one.scores().get(i).scorer();
      }
    }
    return one.total() > other.total() ? "picker" : decisive;
  }

  private static Explanation.@Nullable Candidate candidate(Explanation explanation, String worker) {
    for (Explanation.Candidate candidate : explanation.candidates()) {
      if (candidate.worker().id().equals(worker)) {
        return candidate;
      }
    }
    return null;
  }
}
