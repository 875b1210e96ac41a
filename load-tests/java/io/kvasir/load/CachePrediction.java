package io.kvasir.load;

import io.kvasir.routing.PromptSize;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The tokens that a router predicted to be cached where it sent a request.
 *
 * @param size the prompt
 * @param blocks full blocks of the prompt
 * @param depth leading ones the worker was believed to hold
 * @param unconfirmed how many of those no event of the engine had confirmed yet
 * @param tokens predicted to be cached
 */
record CachePrediction(PromptSize size, int blocks, int depth, int unconfirmed, int tokens) {
  private static final Pattern REASON = Pattern.compile("depth=(\\d+)/(\\d+); cached=(\\d+)/(\\d+)");
  private static final Pattern UNCONFIRMED = Pattern.compile("predicted=(\\d+)");

  /** A prediction beside what the engine found, in the words of {@code kvasir_predictions_total}. */
  enum Verdict {
    /** As predicted, to the token. */
    EXACT,
    /** Less than events had confirmed: the index was wrong. */
    OVER,
    /** The same, and the engine reported that it evicted blocks between the decision and the prompt's turn. */
    OVERTAKEN,
    /** More than predicted. */
    UNDER,
    /** Less than predicted, for want of blocks that the router believed to be there before any event said so. */
    UNCONFIRMED,
    /** The engine does not say. */
    UNREPORTED;

    /** Such as {@code exact}. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The prediction in an {@code X-Router-Reason}; nothing where the header says nothing of cached tokens. */
  static Optional<CachePrediction> parse(String reason, int blockSize) {
    Matcher found = REASON.matcher(reason);
    if (!found.find()) {
      return Optional.empty();
    }
    return Optional.of(
        new CachePrediction(
            new PromptSize(Integer.parseInt(found.group(4)), blockSize),
            Integer.parseInt(found.group(2)),
            Integer.parseInt(found.group(1)),
            unconfirmed(reason),
            Integer.parseInt(found.group(3))));
  }

  /** Blocks that a reason says to be unconfirmed. */
  static int unconfirmed(String reason) {
    Matcher found = UNCONFIRMED.matcher(reason);
    return found.find() ? Integer.parseInt(found.group(1)) : 0;
  }

  /** Tokens of {@link #tokens} that events had confirmed. */
  int confirmedTokens() {
    return Math.min(tokens, size.cached(Math.max(0, depth - unconfirmed)));
  }

  /**
   * Compares it with the engine's report.
   *
   * @param cachedTokens as reported, -1 where nothing was
   */
  Verdict verdict(int cachedTokens) {
    if (cachedTokens < 0) {
      return Verdict.UNREPORTED;
    }
    if (cachedTokens == tokens) {
      return Verdict.EXACT;
    }
    if (cachedTokens > tokens) {
      return Verdict.UNDER;
    }
    return cachedTokens < confirmedTokens() ? Verdict.OVER : Verdict.UNCONFIRMED;
  }
}
