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
    int kind = Kind.at(text, from);
    int second = from + Utf8.length(b);
    boolean leads = (kind & (Kind.LETTER | Kind.NUMBER)) == 0 && !Splitter.isNewline(b);
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
    if ((kind & Kind.NUMBER) != 0) {
      return Splitter.numbers(text, from, to, numbers);
    }
    if (b == ' ' && second < to && (Kind.at(text, second) & (Kind.SPACE | Kind.LETTER | Kind.NUMBER)) == 0) {
      return signs(text, second, to);
    }
    if ((kind & Kind.SPACE) == 0) {
      return signs(text, from, to);
    }
    return Splitter.space(text, from, to, Kind.run(text, from, to, Kind.SPACE), true);
  }

  /** The end of {@code U*W+}, -1 if there is no such word: U* gives back until a W follows it. */
  private static int lower(byte[] text, int from, int to) {
    int afterLastLower = -1;
    int at = from;
    while (at < to) {
      int kind = Kind.at(text, at);
      if ((kind & Kind.UPPER) == 0) {
        if ((kind & Kind.LOWER) != 0) {
          return Kind.run(text, at, to, Kind.LOWER);
        }
        break;
      }
      at += Utf8.length(text[at]);
      if ((kind & Kind.LOWER) != 0) {
        afterLastLower = at;
      }
    }
    return afterLastLower;
  }

  /** The end of {@code U+W*}, -1 if there is no such word. */
  private static int upper(byte[] text, int from, int to) {
    int end = Kind.run(text, from, to, Kind.UPPER);
    return end == from ? -1 : Kind.run(text, end, to, Kind.LOWER);
  }

  private int tail(byte[] text, int at, int to) {
    if (contractions && at < to && text[at] == '\'') {
      int end = Splitter.contraction(text, at, to, true);
      return end < 0 ? at : end;
    }
    return at;
  }

  private static int signs(byte[] text, int from, int to) {
    int end = Kind.runOfOthers(text, from, to, Kind.SPACE | Kind.LETTER | Kind.NUMBER);
    while (end < to && (Splitter.isNewline(text[end]) || text[end] == '/')) {
      end++;
    }
    return end;
  }
}
