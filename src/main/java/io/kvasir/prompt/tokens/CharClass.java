package io.kvasir.prompt.tokens;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The character classes of code points in tokenizers' regular expressions, as a set of the bits below.
 *
 * <p>Kept in pages of 256, most of which are one and the same. The JDK's tables (Unicode 16) agree with those of the
 * Hugging Face library from 0.22 on; older ones do not know the latest few thousand letters.
 */
final class CharClass {
  /** {@code \p{L}}. */
  static final int LETTER = 1;
  /** {@code \p{N}}. */
  static final int NUMBER = 2;
  /** {@code \s}. */
  static final int SPACE = 4;
  /** {@code \p{M}}. */
  static final int MARK = 8;
  /** Upper and title case letters and those without case, and marks. */
  static final int UPPER = 16;
  /** Lower case letters and those without case, and marks. */
  static final int LOWER = 32;
  /** {@code \p{P}} and {@code \p{S}}. */
  static final int SIGN = 64;

  private static final int PAGE = 256;
  private static final byte[][] PAGES = pages();
  private static final byte[] ASCII = PAGES[0];

  private CharClass() {}

  static int of(int codePoint) {
    return PAGES[codePoint >>> 8][codePoint & (PAGE - 1)];
  }

  /** The classes of the code point that begins at {@code at}. */
  static int at(byte[] text, int at) {
    byte b = text[at];
    return b >= 0 ? ASCII[b] : of(Utf8.codePoint(text, at));
  }

  /** Where the run of code points of any of {@code kinds} that begins at {@code at} ends. */
  static int run(byte[] text, int at, int to, int kinds) {
    int end = at;
    while (end < to) {
      byte b = text[end];
      if (b >= 0) {
        if ((ASCII[b] & kinds) == 0) {
          return end;
        }
        end++;
      } else {
        if ((of(Utf8.codePoint(text, end)) & kinds) == 0) {
          return end;
        }
        end += Utf8.length(b);
      }
    }
    return end;
  }

  /** Where the run of code points of none of {@code kinds} that begins at {@code at} ends. */
  static int runOfOthers(byte[] text, int at, int to, int kinds) {
    int end = at;
    while (end < to && (at(text, end) & kinds) == 0) {
      end += Utf8.length(text[end]);
    }
    return end;
  }

  private static byte[][] pages() {
    Map<Integer, byte[]> known = new HashMap<>();
    byte[][] pages = new byte[(Character.MAX_CODE_POINT + 1) / PAGE][];
    for (int page = 0; page < pages.length; page++) {
      byte[] kinds = new byte[PAGE];
      for (int i = 0; i < PAGE; i++) {
        kinds[i] = (byte) compute(page * PAGE + i);
      }
      byte[] same = known.putIfAbsent(Arrays.hashCode(kinds), kinds);
      pages[page] = same != null && Arrays.equals(same, kinds) ? same : kinds;
    }
    return pages;
  }

  private static int compute(int codePoint) {
    if (Utf8.isSpace(codePoint)) {
      return SPACE;
    }
    return switch (Character.getType(codePoint)) {
      case Character.UPPERCASE_LETTER, Character.TITLECASE_LETTER -> LETTER | UPPER;
      case Character.LOWERCASE_LETTER -> LETTER | LOWER;
      case Character.MODIFIER_LETTER, Character.OTHER_LETTER -> LETTER | UPPER | LOWER;
      case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.COMBINING_SPACING_MARK ->
          MARK | UPPER | LOWER;
      case Character.DECIMAL_DIGIT_NUMBER, Character.LETTER_NUMBER, Character.OTHER_NUMBER -> NUMBER;
      case Character.DASH_PUNCTUATION, Character.START_PUNCTUATION, Character.END_PUNCTUATION,
          Character.CONNECTOR_PUNCTUATION, Character.OTHER_PUNCTUATION, Character.INITIAL_QUOTE_PUNCTUATION,
          Character.FINAL_QUOTE_PUNCTUATION, Character.MATH_SYMBOL, Character.CURRENCY_SYMBOL,
          Character.MODIFIER_SYMBOL, Character.OTHER_SYMBOL -> SIGN;
      default -> 0;
    };
  }
}
