package io.kvasir.routing;

import io.kvasir.routing.Explanation.Candidate;
import io.kvasir.routing.Explanation.Score;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Records the stages of one pass for its {@link Explanation}. */
final class ExplanationRecorder {
  private final Profile profile;
  private final List<String> filters;
  private final List<double[]> raw = new ArrayList<>();
  private final List<double[]> contributions = new ArrayList<>();
  private final List<String> scorers = new ArrayList<>();
  private @Nullable Worker[] live = new @Nullable Worker[0];
  private @Nullable String[] removedBy = new @Nullable String[0];
  private int[] depth = new int[0];
  private int[] inFlight = new int[0];
  private long[] pendingTokens = new long[0];
  private double[] queueMs = new double[0];
  private long[] contextTokens = new long[0];
  private int[] waiting = new int[0];
  private double[] kvUse = new double[0];
  private double[] evictionLoss = new double[0];
  private double[] total = new double[0];

  ExplanationRecorder(Profile profile) {
    this.profile = profile;
    this.filters = profile.filterNames();
  }

  void recordSnapshot(Candidates candidates) {
    int slots = candidates.slots();
    live = new @Nullable Worker[slots];
    removedBy = new @Nullable String[slots];
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      live[slot] = candidates.workers[slot];
    }
    depth = new int[slots];
    inFlight = candidates.inFlight.clone();
    pendingTokens = candidates.pendingTokens.clone();
    queueMs = candidates.queueMs.clone();
    contextTokens = candidates.contextTokens.clone();
    waiting = candidates.waiting.clone();
    kvUse = candidates.kvUse.clone();
    evictionLoss = candidates.evictionLoss.clone();
    total = new double[slots];
  }

  void recordFiltered(int filter, Candidates candidates) {
    for (int slot = 0; slot < live.length; slot++) {
      if (live[slot] != null && removedBy[slot] == null && !candidates.has(slot)) {
        removedBy[slot] = filters.get(filter);
      }
    }
  }

  /** Records a scorer's column before it is normalised and weighted. */
  void recordRawScores(String scorer, double[] column) {
    scorers.add(scorer);
    raw.add(column.clone());
  }

  /** Records a scorer's column as it is added to the sum. */
  void recordContributions(double[] column) {
    contributions.add(column.clone());
  }

  void recordTotals(Candidates candidates, double[] scores) {
    depth = candidates.depth.clone();
    total = Arrays.copyOf(scores, candidates.slots());
  }

  Explanation explanation(RoutingContext context, Selection selection) {
    List<Candidate> candidates = new ArrayList<>();
    for (int slot = 0; slot < live.length; slot++) {
      Worker worker = live[slot];
      if (worker != null) {
        candidates.add(candidate(slot, worker));
      }
    }
    return new Explanation(
        context.requestId(),
        profile.name(),
        context.role(),
        Slots.promptTokens(context),
        context.get(Slots.CHAIN).length(),
        selection,
        List.copyOf(candidates));
  }

  private Candidate candidate(int slot, Worker worker) {
    boolean removed = removedBy[slot] != null;
    List<Score> scores = new ArrayList<>();
    for (int i = 0; i < scorers.size() && !removed; i++) {
      scores.add(new Score(scorers.get(i), raw.get(i)[slot], contributions.get(i)[slot]));
    }
    return new Candidate(
        worker,
        removedBy[slot],
        removed ? 0 : depth[slot],
        inFlight[slot],
        pendingTokens[slot],
        queueMs[slot],
        contextTokens[slot],
        waiting[slot],
        kvUse[slot],
        evictionLoss[slot],
        List.copyOf(scores),
        removed ? 0 : total[slot]);
  }
}
