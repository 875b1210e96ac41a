package io.kvasir.prompt.tokens;

/**
 * DeepSeek V3's three steps in one: numbers by threes are cut out first, then runs of Chinese and Japanese, and what is
 * left between them is cut by {@code [ASCII sign][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+}. For that last step the text ends where a number or such a run begins. What it does not
 * match (control characters, unassigned ones) is a word as far as it goes.
 */
record DeepSeekSplitter() implements Splitter {
  private static final int WORD = CharClass.LETTER | CharClass.MARK;

  @Override
  public int end(byte[] text, int from, int to) {
    byte b = text[from];
    int kind = CharClass.at(text, from);
    if ((kind & CharClass.NUMBER) != 0) {
      return Splitter.numbers(text, from, to, 3);
    }
    int second = from + Utf8.length(b);
    if (isHanOrKana(text, from)) {
      int end = second;
      while (end < to && isHanOrKana(text, end)) {
        end += Utf8.length(text[end]);
      }
      return end;
    }
    if ((kind & WORD) != 0) {
      return word(text, from, to);
    }
    if ((kind & CharClass.SIGN) != 0) {
      return b >= 0 && second < to && Utf8.isAsciiLetter(text[second])
          ? letters(text, second, to)
          : signs(text, from, to);
    }
    if (isWord(text, second, to) && !Splitter.isNewline(b)) {
      return word(text, second, to);
    }
    if (b == ' ' && isSign(text, second, to)) {
      return signs(text, second, to);
    }
    if ((kind & CharClass.SPACE) != 0) {
      int run = CharClass.run(text, from, to, CharClass.SPACE);
      return Splitter.space(text, from, ends(text, run, to) ? run : to, run, true);
    }
    int end = second;
    while (!ends(text, end, to) && (CharClass.at(text, end) & (WORD | CharClass.SIGN | CharClass.SPACE)) == 0
        && !isWord(text, end + Utf8.length(text[end]), to)) {
      end += Utf8.length(text[end]);
    }
    return end;
  }

  private static boolean ends(byte[] text, int at, int to) {
    return at >= to || (CharClass.at(text, at) & CharClass.NUMBER) != 0 || isHanOrKana(text, at);
  }

  private static boolean isWord(byte[] text, int at, int to) {
    return at < to && (CharClass.at(text, at) & WORD) != 0 && !isHanOrKana(text, at);
  }

  private static boolean isSign(byte[] text, int at, int to) {
    return at < to && (CharClass.at(text, at) & CharClass.SIGN) != 0 && !isHanOrKana(text, at);
  }

  private static int word(byte[] text, int from, int to) {
    int end = from;
    while (isWord(text, end, to)) {
      end += Utf8.length(text[end]);
    }
    return end;
  }

  private static int letters(byte[] text, int from, int to) {
    int end = from;
    while (end < to && Utf8.isAsciiLetter(text[end])) {
      end++;
    }
    return end;
  }

  private static int signs(byte[] text, int from, int to) {
    int end = from;
    while (isSign(text, end, to)) {
      end += Utf8.length(text[end]);
    }
    return Splitter.newlines(text, end, to);
  }

  /** {@code [一-龥぀-ゟ゠-ヿ]}. */
  private static boolean isHanOrKana(byte[] text, int at) {
    if (text[at] >= (byte) 0xe0 && text[at] < (byte) 0xf0) {
      int codePoint = Utf8.codePoint(text, at);
      return (codePoint >= 0x4e00 && codePoint <= 0x9fa5) || (codePoint >= 0x3040 && codePoint <= 0x30ff);
    }
    return false;
  }
}
