package io.kvasir.prompt;

import io.kvasir.prompt.tokens.Tokenizer;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The parity of our tokens with the engine's.
 *
 * @param verdict result of the last conclusive comparison
 * @param difference description of the first difference; null while there is none
 */
public record Parity(Verdict verdict, @Nullable String difference) {
  /** The result of a comparison. */
  public enum Verdict {
    /** There was no comparison yet. */
    UNCHECKED,
    /** The same ids. */
    SAME,
    /** Different ids: the engine holds other blocks than those of our chain. */
    DIFFERENT,
    /** The engine did not answer, or we have no tokens to compare. */
    UNANSWERED;

    /** The label in metrics. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static final Parity UNCHECKED = new Parity(Verdict.UNCHECKED, null);
  static final Parity UNANSWERED = new Parity(Verdict.UNANSWERED, null);
  private static final Parity SAME = new Parity(Verdict.SAME, null);

  /** Tokens shown after the first difference, and before it. */
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
