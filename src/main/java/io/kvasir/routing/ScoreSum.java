package io.kvasir.routing;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The weighted sum of a profile's scorers, with signs such that more is better. A single scorer's scores are summed as
 * they are; those of several are normalised first, 0 for the worst candidate and 1 for the best, unless the profile
 * configures otherwise.
 */
final class ScoreSum {
  /** How a scorer's scores are normalised. */
  enum Normalisation {
    /** Scores stay in the scorer's unit. */
    NONE,
    /** 0 for the worst remaining candidate, 1 for the best, 0 for all when they are equal. */
    MIN_MAX
  }

  /** One scorer with its weight and normalisation. */
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

  /** Writes the sum for every remaining candidate to {@code total}; {@code column} is overwritten. */
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

  /** Whether every scorer has its inputs. */
  boolean hasInputs(RoutingContext context, Candidates candidates) {
    for (Term term : terms) {
      if (!term.scorer.hasInputs(context, candidates)) {
        return false;
      }
    }
    return true;
  }

  /** Calls {@link Scorer#onChosen} of every scorer. */
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
    toContributions(term, candidates, column);
    if (trace != null) {
      trace.recordContributions(column);
    }
  }

  /** Normalises and weights a scorer's column. */
  private static void toContributions(Term term, Candidates candidates, double[] column) {
    double scale = term.sign();
    double shift = 0;
    if (term.normalisation == Normalisation.MIN_MAX) {
      double min = Double.POSITIVE_INFINITY;
      double max = Double.NEGATIVE_INFINITY;
      for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
        double score = column[slot];
        if (Double.isFinite(score)) {
          min = Math.min(min, score);
          max = Math.max(max, score);
        }
      }
      shift = term.sign() > 0 ? -min : -max;
      scale = max > min ? term.sign() / (max - min) : 0;
    }
    double factor = scale * term.weight;
    for (int slot = 0; slot < column.length; slot++) {
      // + 0.0 turns -0 into 0 for explanations.
      double score = (column[slot] + shift) * factor + 0.0;
      // Not a number compares false.
      column[slot] = Math.abs(score) <= -WORST ? score : score > 0 ? -WORST : WORST;
    }
  }
}
