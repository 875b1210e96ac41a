package io.kvasir.cell.view;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.events.EventState;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.routing.Explanation;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.EngineCost;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.DecisionRecord.CandidateRecord;
import io.kvasir.telemetry.DecisionRecord.IndexState;
import io.kvasir.telemetry.DecisionRecord.Pass;
import io.kvasir.telemetry.DecisionRecord.StepRecord;
import io.kvasir.telemetry.DecisionRecord.WorkerFacts;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Records how a decision of a cell came about. Made for one decision that is sampled or explained; costs some
 * microseconds per worker.
 */
public final class DecisionRecorder {
  private static final Tier[] TIERS = Tier.values();

  private final String cell;
  private final ProfileSet profiles;
  private final CellFleet fleet;
  private final BlockIndex index;
  private final @Nullable Member[] members;
  private final List<Explanation> passes = new ArrayList<>(2);

  /** A recorder of the next decision, which is made for this fleet. */
  DecisionRecorder(String cell, ProfileSet profiles, CellFleet fleet) {
    this.cell = cell;
    this.profiles = profiles;
    this.fleet = fleet;
    this.index = fleet.table().index();
    this.members = fleet.table().members();
  }

  /** One more pass of the decision. */
  void pass(Explanation explanation) {
    passes.add(explanation);
  }

  /**
   * The record of a decision that came to a plan.
   *
   * @param everCachedTokens tokens of the prompt that the cell has seen before
   */
  DecisionRecord planned(DecisionRequest request, String reason, List<RoutingPlan.Step> steps, int everCachedTokens) {
    return record(
        request,
        null,
        reason,
        steps.stream().map(step -> step(step, request.prompt().tokens(), everCachedTokens)).toList());
  }

  /** The record of one that did not. */
  DecisionRecord refused(DecisionRequest request, Decision.NoWorker none) {
    return record(request, lower(none.reason()), none.detail(), List.of());
  }

  /** The record of a decision that had no candidates. */
  public static DecisionRecord withoutCandidates(String cell, DecisionRequest request, Decision.NoWorker none) {
    return record(cell, profileOf(request), 0, request, lower(none.reason()), none.detail(), List.of(), List.of());
  }

  private DecisionRecord record(
      DecisionRequest request, @Nullable String refused, String reason, List<StepRecord> plan) {
    return record(
        cell,
        passes.isEmpty() ? profileOf(request) : profile(passes.getFirst().profile()),
        profiles.outputs().expected(request.model()),
        request,
        refused,
        reason,
        plan,
        passes.stream().map(pass -> pass(pass, request.prompt())).toList());
  }

  private static String profileOf(DecisionRequest request) {
    return request.profile() == null ? "" : request.profile();
  }

  /** A profile of several has parts: {@code prefill-decode.prefill}. */
  private static String profile(String ofPass) {
    int part = ofPass.indexOf('.');
    return part < 0 ? ofPass : ofPass.substring(0, part);
  }

  private static DecisionRecord record(
      String cell,
      String profile,
      double expectedOutput,
      DecisionRequest request,
      @Nullable String refused,
      String reason,
      List<StepRecord> plan,
      List<Pass> passes) {
    Chain chain = request.prompt().chain();
    return new DecisionRecord(
        Instant.now().toString(),
        request.requestId(),
        request.traceId(),
        request.model(),
        profile,
        cell,
        request.prompt().tokens(),
        chain.length(),
        chain.blockSize(),
        request.prompt().tokensFrom(),
        Arrays.stream(chain.hashes())
            .limit(Math.min(chain.length(), DecisionRecord.HASHES))
            .mapToObj(HexFormat.of()::toHexDigits)
            .toList(),
        slots(request),
        expectedOutput,
        request.constraints().excluded().stream().sorted().toList(),
        refused,
        reason,
        plan,
        passes,
        null);
  }

  private static Map<String, String> slots(DecisionRequest request) {
    Map<String, String> slots = new TreeMap<>();
    request
        .prepared()
        .texts()
        .forEach((name, text) ->
            slots.put(
                name, text.isEmpty() || !Slot.isConfidential(name) ? text : DecisionRecord.hashed(text)));
    request.prepared().numbers().forEach((name, number) -> slots.put(name, Long.toString(number)));
    return slots;
  }

  private StepRecord step(RoutingPlan.Step step, int promptTokens, int everCachedTokens) {
    Selection.Chosen chosen = null;
    for (Explanation pass : passes) {
      if (pass.selection() instanceof Selection.Chosen one && one.worker().equals(step.worker())) {
        chosen = one;
      }
    }
    CachedTokens cached =
        chosen == null
            ? new CachedTokens(0, 0, 0, everCachedTokens)
            : new CachedTokens(chosen.predictedCachedTokens(), 0, chosen.bestCachedTokens(), everCachedTokens);
    return new StepRecord(
        step.name(),
        step.role().label(),
        step.worker().id(),
        step.alternatives().stream().map(Worker::id).toList(),
        chosen == null ? 0 : chosen.depth(),
        cached.predicted(),
        cached.best(),
        cached.ever(),
        cached.regret(promptTokens),
        lower(step.onFailure()));
  }

  private Pass pass(Explanation pass, DecisionRequest.Prompt prompt) {
    return new Pass(
        pass.role().label(),
        pass.selection() instanceof Selection.Chosen chosen ? chosen.worker().id() : null,
        candidates(pass, prompt));
  }

  /** What a worker holds that was removed is not in the explanation: it is looked up. */
  private List<CandidateRecord> candidates(Explanation pass, DecisionRequest.Prompt prompt) {
    long[] removed = new long[index.slots() >>> 6];
    for (Explanation.Candidate candidate : pass.candidates()) {
      if (candidate.removedBy() != null) {
        int slot = candidate.worker().slot();
        removed[slot >>> 6] |= 1L << slot;
      }
    }
    int[] depths = new int[index.slots()];
    index.search(prompt.chain(), removed, depths);
    return pass.candidates().stream()
        .map(candidate -> {
          int slot = candidate.worker().slot();
          Chain own = fleet.chain(prompt, candidate.worker());
          boolean another = candidate.removedBy() != null && !own.equals(prompt.chain());
          return candidate(candidate, another ? index.verify(own, slot) : depths[slot], own);
        })
        .toList();
  }

  /** The record of a candidate that holds so many of the prompt's leading blocks if it was removed. */
  private CandidateRecord candidate(Explanation.Candidate candidate, int held, Chain chain) {
    Worker worker = candidate.worker();
    Member member = members[worker.slot()];
    int depth = candidate.removedBy() == null ? candidate.depth() : resumable(member, chain, held);
    return new CandidateRecord(
        worker.id(),
        worker.slot(),
        candidate.removedBy(),
        depth,
        depth > 0 ? tiers(worker, member, chain) : Map.of(),
        candidate.inFlight(),
        candidate.pendingTokens(),
        candidate.queueMs(),
        candidate.contextTokens(),
        candidate.waiting() < 0 ? null : candidate.waiting(),
        candidate.kvUse() < 0 ? null : candidate.kvUse(),
        candidate.evictionLoss(),
        candidate.scores().stream()
            .map(score -> new DecisionRecord.ScoreRecord(score.scorer(), score.raw(), score.contribution()))
            .toList(),
        candidate.total(),
        member == null ? null : state(member),
        facts(worker));
  }

  /** Of blocks that a worker holds those that its engine can go on from the end of: fewer in a hybrid model's. */
  private static int resumable(@Nullable Member member, Chain chain, int held) {
    return member == null ? held : member.cache().resumable(chain, held);
  }

  /** Blocks that were not reported, since they are only predicted, count as the device's. */
  private Map<String, Integer> tiers(Worker worker, @Nullable Member member, Chain chain) {
    int[] blocks = new int[TIERS.length];
    int held = index.tiers(chain, worker.slot(), blocks);
    int resumable = resumable(member, chain, held);
    if (resumable < held) {
      Arrays.fill(blocks, 0);
      Chain beginning = chain.first(resumable);
      int _ = index.tiers(beginning, worker.slot(), blocks);
    }
    Map<String, Integer> tiers = new TreeMap<>();
    for (Tier tier : TIERS) {
      if (blocks[tier.index()] > 0) {
        tiers.put(lower(tier), blocks[tier.index()]);
      }
    }
    return tiers;
  }

  private IndexState state(Member member) {
    EventState events = member.cache().events();
    return new IndexState(
        events.lastSequence(),
        events.suspect() ? Math.max(0, System.currentTimeMillis() - events.suspectSince()) : null,
        member.accuracy().trust(),
        member.eventMode().label());
  }

  private WorkerFacts facts(Worker worker) {
    EngineCost cost = profiles.costs().of(worker.instance());
    return new WorkerFacts(
        worker.pod(),
        worker.rank(),
        worker.ranks(),
        worker.role().label(),
        List.copyOf(worker.models()),
        worker.labels(),
        worker.maxInFlight(),
        worker.engine(),
        cost.msPerToken(),
        cost.msPerPair());
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
