package io.kvasir.prompt;

import io.kvasir.prompt.tokens.Tokenizer;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Whether our tokens are the engine's.
 *
 * @param verdict of the last comparison that said anything
 * @param difference where the two texts part, in words; null while they are the same
 */
public record Parity(Verdict verdict, @Nullable String difference) {
  /** What a comparison came to. */
  public enum Verdict {
    /** There was none yet. */
    UNCHECKED,
    /** The same ids. */
    SAME,
    /** Not the same ids: what we would hash, the engine does not hold. */
    DIFFERENT,
    /** The engine did not answer, or there is nothing of ours to compare. */
    UNANSWERED;

    /** As metrics write it. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static final Parity UNCHECKED = new Parity(Verdict.UNCHECKED, null);
  private static final Parity SAME = new Parity(Verdict.SAME, null);

  /** Tokens shown of either side after the place where they part, and before it. */
  private static final int SHOWN = 12;
  private static final int CONTEXT = 4;

  static Parity compare(Tokenizer tokenizer, int[] ours, int[] theirs) {
    int at = Arrays.mismatch(ours, theirs);
    return at < 0 ? SAME : different("at token " + at + " of " + ours.length + " (ours) and " + theirs.length
        + " (the engine's): ours " + shown(tokenizer, ours, at) + ", the engine's " + shown(tokenizer, theirs, at));
  }

  static Parity different(String difference) {
    return new Parity(Verdict.DIFFERENT, difference);
  }

  private static String shown(Tokenizer tokenizer, int[] ids, int at) {
    int[] part = Arrays.copyOfRange(ids, Math.max(0, at - CONTEXT), Math.min(ids.length, at + SHOWN));
    String text = tokenizer.decode(part).replace("\\", "\\\\").replace("\n", "\\n").replace("\"", "\\\"");
    return "\"" + text + "\" " + Arrays.toString(part);
  }
}
