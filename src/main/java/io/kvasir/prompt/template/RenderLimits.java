package io.kvasir.prompt.template;

/**
 * The limits of one rendering. Templates come from model repositories and, where allowed, from requests: both are
 * untrusted, so every rendering ends at these limits.
 *
 * @param steps statements, loop turns and calls, and 64 characters of text worked on count as one; a turn of an
 *     ordinary conversation takes a few hundred
 * @param chars characters of output and of intermediate texts together; a list's element counts as eight
 * @param depth nested macro calls and recursive loops
 */
public record RenderLimits(long steps, long chars, int depth) {
  /** The default limits: enough for a conversation of some 20 million characters, and about a second of work. */
  public static final RenderLimits DEFAULT = new RenderLimits(20_000_000, 64L << 20, 200);

  /** Checks the ranges. */
  public RenderLimits {
    if (steps < 1 || chars < 1 || depth < 1) {
      throw new IllegalArgumentException("limits must be positive: " + steps + ", " + chars + ", " + depth);
    }
  }
}
