package io.kvasir.prompt.tokens;

/**
 * GPT-4o's words, which end where lower case is followed by upper. With U for upper case, W for lower case (both have
 * caseless letters and marks): {@code [^\r\n\p{L}\p{N}]?U*W+'s?|[^\r\n\p{L}\p{N}]?U+W*'s?|\p{N}{1,3}|
 * ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+}, where {@code 's} is any contraction.
 *
 * @param contractions whether there are any
 * @param numbers how many numbers are one word
 */
record CasedSplitter(boolean contractions, int numbers) implements Splitter {
  @Override
  public int end(byte[] text, int from, int to) {
    byte b = text[from];
    int kind = CharClass.at(text, from);
    int second = from + Utf8.length(b);
    boolean leads = (kind & (CharClass.LETTER | CharClass.NUMBER)) == 0 && !Splitter.isNewline(b);
    int word = leads ? lower(text, second, to) : -1;
    if (word < 0) {
      word = lower(text, from, to);
    }
    if (word < 0 && leads) {
      word = upper(text, second, to);
    }
    if (word < 0) {
      word = upper(text, from, to);
    }
    if (word >= 0) {
      return tail(text, word, to);
    }
    if ((kind & CharClass.NUMBER) != 0) {
      return Splitter.numbers(text, from, to, numbers);
    }
    if (b == ' ' && second < to
        && (CharClass.at(text, second) & (CharClass.SPACE | CharClass.LETTER | CharClass.NUMBER)) == 0) {
      return signs(text, second, to);
    }
    if ((kind & CharClass.SPACE) == 0) {
      return signs(text, from, to);
    }
    return Splitter.space(text, from, to, CharClass.run(text, from, to, CharClass.SPACE), true);
  }

  /** The end of {@code U*W+}, -1 if there is no such word: U* gives back until a W follows it. */
  private static int lower(byte[] text, int from, int to) {
    int afterLastLower = -1;
    int at = from;
    while (at < to) {
      int kind = CharClass.at(text, at);
      if ((kind & CharClass.UPPER) == 0) {
        if ((kind & CharClass.LOWER) != 0) {
          return CharClass.run(text, at, to, CharClass.LOWER);
        }
        break;
      }
      at += Utf8.length(text[at]);
      if ((kind & CharClass.LOWER) != 0) {
        afterLastLower = at;
      }
    }
    return afterLastLower;
  }

  /** The end of {@code U+W*}, -1 if there is no such word. */
  private static int upper(byte[] text, int from, int to) {
    int end = CharClass.run(text, from, to, CharClass.UPPER);
    return end == from ? -1 : CharClass.run(text, end, to, CharClass.LOWER);
  }

  private int tail(byte[] text, int at, int to) {
    if (contractions && at < to && text[at] == '\'') {
      int end = Splitter.contraction(text, at, to, true);
      return end < 0 ? at : end;
    }
    return at;
  }

  private static int signs(byte[] text, int from, int to) {
    int end = CharClass.runOfOthers(text, from, to, CharClass.SPACE | CharClass.LETTER | CharClass.NUMBER);
    while (end < to && (Splitter.isNewline(text[end]) || text[end] == '/')) {
      end++;
    }
    return end;
  }
}
