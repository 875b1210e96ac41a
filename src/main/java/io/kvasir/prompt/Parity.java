package io.kvasir.prompt;

import io.kvasir.prompt.tokens.Tokenizer;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The parity of our tokens with the engine's.
 *
 * @param verdict result of the comparison
 * @param detail description of the first difference, or the reason why there is no result; null when there is nothing
 *     to add. It says where and how long a client's prompt is, and never a word of it
 */
public record Parity(Verdict verdict, @Nullable String detail) {
  /** The result of a comparison. */
  public enum Verdict {
    /** There was no comparison yet. */
    UNCHECKED,
    /** The same ids. */
    SAME,
    /** Different ids: the engine holds other blocks than those of our chain. */
    DIFFERENT,
    /** The engine refused the prompt, which says nothing about its tokens. */
    REFUSED,
    /** The engine did not answer, or we have no tokens to compare. */
    UNANSWERED;

    /** The label in metrics. */
    public String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static final Parity UNCHECKED = new Parity(Verdict.UNCHECKED, null);
  static final Parity SAME = new Parity(Verdict.SAME, null);

  /** Tokens shown after the first difference, and before it. */
  private static final int SHOWN = 12;
  private static final int CONTEXT = 4;

  /** The result for a client's prompt. */
  static Parity compare(int[] ours, int[] theirs) {
    int at = Arrays.mismatch(ours, theirs);
    return at < 0 ? SAME : different(position(ours, theirs, at));
  }

  /** The result for a prompt of our own, with the tokens around the first difference. */
  static Parity compareProbe(Tokenizer tokenizer, int[] ours, int[] theirs) {
    int at = Arrays.mismatch(ours, theirs);
    return at < 0 ? SAME : different(position(ours, theirs, at) + ": ours " + shown(tokenizer, ours, at)
        + ", the engine's " + shown(tokenizer, theirs, at));
  }

  static Parity different(String difference) {
    return new Parity(Verdict.DIFFERENT, difference);
  }

  static Parity refused(String reason) {
    return new Parity(Verdict.REFUSED, reason);
  }

  static Parity unanswered(String reason) {
    return new Parity(Verdict.UNANSWERED, reason);
  }

  private static String position(int[] ours, int[] theirs, int at) {
    return "at token " + at + " of " + ours.length + " (ours) and " + theirs.length + " (the engine's)";
  }

  private static String shown(Tokenizer tokenizer, int[] ids, int at) {
    int[] part = Arrays.copyOfRange(ids, Math.max(0, at - CONTEXT), Math.min(ids.length, at + SHOWN));
    return "\"" + printable(tokenizer.decode(part)) + "\" " + Arrays.toString(part);
  }

  private static String printable(String text) {
    StringBuilder out = new StringBuilder(text.length());
    text.codePoints().forEach(c -> {
      switch (c) {
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        case '"', '\\' -> out.append('\\').appendCodePoint(c);
        default -> {
          if (Character.isISOControl(c) || Character.getType(c) == Character.FORMAT) {
            out.append("\\u{").append(Integer.toHexString(c)).append('}');
          } else {
            out.appendCodePoint(c);
          }
        }
      }
    });
    return out.toString();
  }
}
