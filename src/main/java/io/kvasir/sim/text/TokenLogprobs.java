package io.kvasir.sim.text;

import java.util.ArrayList;
import java.util.List;

/**
 * Log probabilities for those who ask for them: made up, for there is no model, but the same for the same token at the
 * same place. What was chosen is the likeliest. Thread-safe.
 */
public final class TokenLogprobs {
  private final ModelText model;
  private final SyntheticText words;

  /** Of a model and the words that it answers with. */
  public TokenLogprobs(ModelText model, SyntheticText words) {
    this.model = model;
    this.words = words;
  }

  /**
   * A token that may stand at a place.
   *
   * @param rank 1 for the likeliest
   */
  public record Candidate(int token, String text, double logprob, int rank) {}

  /** The token that stands at a place, and {@code others} that are less likely. */
  public List<Candidate> at(int token, int place, int others) {
    List<Candidate> candidates = new ArrayList<>(1 + others);
    long mixed = (token * 0x9E3779B97F4A7C15L) ^ (place * 0xC2B2AE3D27D4EB4FL);
    double logprob = -0.05 - (mixed >>> 40) % 1000 / 1000.0;
    candidates.add(new Candidate(token, text(token), logprob, 1));
    int word = (int) Long.remainderUnsigned(mixed, words.wordCount());
    while (candidates.size() <= others) {
      int other = words.word(word++ % words.wordCount());
      if (other != token) {
        int rank = candidates.size() + 1;
        candidates.add(new Candidate(other, text(other), logprob - 0.75 * (rank - 1), rank));
      }
    }
    return candidates;
  }

  /** A token's text by itself. */
  public String text(int token) {
    String word = words.text(token);
    return word.isEmpty() ? model.decode(new int[] {token}) : word;
  }
}
