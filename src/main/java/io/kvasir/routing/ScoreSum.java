package io.kvasir.routing;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The weighted sum of a profile's scorers, turned so that more is better. A single scorer is taken as it
 * is; several are brought to one scale first, 0 for the worst candidate and 1 for the best, unless the
 * profile says that their own units are comparable.
 */
final class ScoreSum {
  /** How a score is brought to a common scale. */
  enum Normalisation {
    /** As the scorer wrote it. */
    NONE,
    /** 0 for the worst candidate still in, 1 for the best, 0 for all when they are equal. */
    MIN_MAX
  }

  /** One scorer's part. */
  record Term(String name, Scorer scorer, double weight, Normalisation normalisation) {
    private double sign() {
      return scorer.direction() == Scorer.Direction.HIGHER ? 1 : -1;
    }
  }

  /** Worse than every real score, and still a number, so that sums stay ordered. */
  private static final double WORST = -1e300;

  private final Term[] terms;

  ScoreSum(List<Term> terms) {
    this.terms = terms.toArray(Term[]::new);
  }

  /** Writes the sum for every candidate still in to {@code total}; {@code column} is overwritten. */
  void score(
      RoutingContext context, Candidates candidates, double[] total, double[] column,
      @Nullable ExplanationRecorder trace) {
    if (terms.length == 0) {
      Arrays.fill(total, 0);
      return;
    }
    score(terms[0], context, candidates, total, trace);
    for (int i = 1; i < terms.length; i++) {
      score(terms[i], context, candidates, column, trace);
      for (int slot = 0; slot < total.length; slot++) {
        total[slot] += column[slot];
      }
    }
  }

  /** Whether every scorer knows what it goes by. */
  boolean hasInputs(RoutingContext context, Candidates candidates) {
    for (Term term : terms) {
      if (!term.scorer.hasInputs(context, candidates)) {
        return false;
      }
    }
    return true;
  }

  /** Tells every scorer who got the request. */
  void onChosen(RoutingContext context, Candidates candidates, int slot) {
    for (Term term : terms) {
      term.scorer.onChosen(context, candidates, slot);
    }
  }

  private static void score(
      Term term, RoutingContext context, Candidates candidates, double[] column, @Nullable ExplanationRecorder trace) {
    term.scorer.score(context, candidates, column);
    if (trace != null) {
      trace.recordRawScores(term.name, column);
    }
    turn(term, candidates, column);
    if (trace != null) {
      trace.recordContributions(column);
    }
  }

  /** From the scorer's own numbers to what they add. */
  private static void turn(Term term, Candidates candidates, double[] column) {
    double scale = term.sign();
    double shift = 0;
    if (term.normalisation == Normalisation.MIN_MAX) {
      double least = Double.POSITIVE_INFINITY;
      double most = Double.NEGATIVE_INFINITY;
      for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
        double score = column[slot];
        if (Double.isFinite(score)) {
          least = Math.min(least, score);
          most = Math.max(most, score);
        }
      }
      shift = term.sign() > 0 ? -least : -most;
      scale = most > least ? term.sign() / (most - least) : 0;
    }
    double factor = scale * term.weight;
    for (int slot = 0; slot < column.length; slot++) {
      // + 0.0: a contribution of nothing reads 0, not -0.
      double score = (column[slot] + shift) * factor + 0.0;
      // Written so that what is not a number becomes the worst.
      column[slot] = score > WORST ? Math.min(score, -WORST) : WORST;
    }
  }
}
