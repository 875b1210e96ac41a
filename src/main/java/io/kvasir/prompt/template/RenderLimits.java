package io.kvasir.prompt.template;

import java.time.Duration;

/**
 * The limits of one rendering, and of the parsing before it where the template is a request's own. Templates come from
 * model repositories and, where allowed, from requests, and conversations from anybody: all are untrusted, so every
 * rendering ends at these limits.
 *
 * @param steps work: an expression, a statement, a loop's turn and a token of the source are one step each; so are 64
 *     characters of text or 8 elements of a list that an operation reads or makes
 * @param chars characters of text made in all, those of intermediate texts among them; a list's element counts as 16
 * @param depth nesting of expressions, statements, calls and values in each other, which bounds the stack
 * @param source characters of the template's source
 * @param time the longest time on a core; a clock is asked every thousand steps
 */
public record RenderLimits(long steps, long chars, int depth, int source, Duration time) {
  /**
   * The limits of a model's own templates, which an operator has chosen: a few seconds of work at most, whoever the
   * conversation is from.
   */
  public static final RenderLimits MODEL =
      new RenderLimits(20_000_000, 64L << 20, 1000, 1 << 20, Duration.ofMinutes(1));

  /**
   * The limits of a template that a request has brought. A request is rendered twice at most, for its prompt and for
   * its tokens, so that it does not hold a core for more than 100 ms.
   */
  public static final RenderLimits REQUEST =
      new RenderLimits(1_000_000, 4L << 20, 1000, 1 << 16, Duration.ofMillis(50));

  /** Checks the ranges. */
  public RenderLimits {
    if (steps < 1 || chars < 1 || depth < 1 || source < 1 || !time.isPositive()) {
      throw new IllegalArgumentException(
          "limits must be positive: " + steps + ", " + chars + ", " + depth + ", " + source + ", " + time);
    }
  }

  /** These limits for a conversation of {@code length} characters: room to work on all of it a few times. */
  RenderLimits forConversation(long length) {
    return new RenderLimits(steps + length, chars + 4 * length, depth, source, time);
  }
}
