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
  /** The limits of parsing a model's own templates, which an operator has chosen, and the least of rendering them. */
  static final RenderLimits MODEL = new RenderLimits(20_000_000, 64L << 20, 1000, 1 << 20, Duration.ofMinutes(1));

  /**
   * The limits of a template that a request has brought. A request is rendered twice at most, for its prompt and for
   * its tokens, so that it does not hold a core for more than 100 ms.
   */
  static final RenderLimits REQUEST = new RenderLimits(1_000_000, 4L << 20, 1000, 1 << 16, Duration.ofMillis(50));

  /** Of a conversation's characters, how many steps and characters a model's own template may make of each. */
  private static final int STEPS_PER_CHAR = 16;
  private static final int CHARS_PER_CHAR = 64;
  /** Half of what a text may have. */
  private static final long MAX_CHARS = 1L << 30;

  /** Checks the ranges. */
  public RenderLimits {
    if (steps < 1 || chars < 1 || depth < 1 || source < 1 || !time.isPositive()) {
      throw new IllegalArgumentException(
          "limits must be positive: " + steps + ", " + chars + ", " + depth + ", " + source + ", " + time);
    }
  }

  /**
   * The limits of a model's own templates on a conversation of {@code length} characters: room to work on all of it
   * many times, whatever its length, as long as the work is in proportion to it.
   */
  public static RenderLimits ofModel(long length) {
    return new RenderLimits(MODEL.steps + STEPS_PER_CHAR * length,
        Math.min(MODEL.chars + CHARS_PER_CHAR * length, MAX_CHARS), MODEL.depth, MODEL.source, MODEL.time);
  }

  /** The limits of a request's own template: room to work on the conversation a few times. */
  public static RenderLimits ofRequest(long length) {
    return new RenderLimits(
        REQUEST.steps + length, REQUEST.chars + 4 * length, REQUEST.depth, REQUEST.source, REQUEST.time);
  }
}
