package io.kvasir.sim.text;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An answer whose text is known before it is generated: a call of a tool, or what a schema allows. Its tokens are those
 * that the text has behind its prompt, so it is found in the cache when it comes back as history. Immutable.
 */
public final class PlannedAnswer {
  /** How many of a prompt's last tokens decide how the text behind them splits. */
  private static final int TAIL = 8;

  private final String text;
  private final int[] tokens;
  /** Characters of the text that the tokens up to each are, where these are whole. */
  private final int[] ends;
  private final @Nullable CallSpan call;

  /**
   * Where in the text a call of a tool is, in characters.
   *
   * @param name of the tool
   * @param announced how many tell the name
   * @param from the begin of the arguments, JSON
   * @param to their end
   */
  public record CallSpan(String name, int announced, int from, int to) {}

  private PlannedAnswer(String text, int[] tokens, int[] ends, @Nullable CallSpan call) {
    this.text = text;
    this.tokens = tokens;
    this.ends = ends;
    this.call = call;
  }

  /** The answer {@code text} to {@code prompt}. */
  static PlannedAnswer of(ModelText model, int[] prompt, String text, @Nullable CallSpan call) {
    int[] tokens = tokensBehind(model, prompt, text);
    return new PlannedAnswer(text, tokens, ends(model, text, tokens), call);
  }

  private static int[] tokensBehind(ModelText model, int[] prompt, String text) {
    int[] tail = Arrays.copyOfRange(prompt, Math.max(0, prompt.length - TAIL), prompt.length);
    int[] both = model.encode(model.decode(tail) + text, false);
    boolean follows = both.length > tail.length && Arrays.equals(tail, 0, tail.length, both, 0, tail.length);
    return follows ? Arrays.copyOfRange(both, tail.length, both.length) : model.encode(text, false);
  }

  /** Tokens that are part of a character show nothing before the last of it. */
  private static int[] ends(ModelText model, String text, int[] tokens) {
    int[] ends = new int[tokens.length];
    int end = 0;
    int begin = 0;
    for (int i = 0; i < tokens.length; i++) {
      String part = model.decode(Arrays.copyOfRange(tokens, begin, i + 1));
      if (text.startsWith(part, end)) {
        end += part.length();
        begin = i + 1;
      }
      ends[i] = i == tokens.length - 1 ? text.length() : end;
    }
    return ends;
  }

  /** The number of its tokens, without the one that ends an answer. */
  public int length() {
    return tokens.length;
  }

  /** The token at a position; {@code eos} behind the last. */
  public int token(int position, int eos) {
    return position < tokens.length ? tokens[position] : eos;
  }

  /** What the token at a position adds to the text; nothing behind the last. */
  public String text(int position) {
    return position < tokens.length ? text.substring(position == 0 ? 0 : ends[position - 1], ends[position]) : "";
  }

  /** The call that it is, or null when it is text. */
  public @Nullable CallSpan call() {
    return call;
  }
}
