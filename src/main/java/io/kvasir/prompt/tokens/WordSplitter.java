package io.kvasir.prompt.tokens;

/**
 * {@code (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+}.
 *
 * @param letters what a word is made of: letters, or letters and marks
 * @param numbers how many numbers are one word
 */
record WordSplitter(int letters, int numbers) implements Splitter {
  @Override
  public int end(byte[] text, int from, int to) {
    byte b = text[from];
    if (b == '\'') {
      int end = Splitter.contraction(text, from, to, true);
      if (end >= 0) {
        return end;
      }
    }
    int kind = CharClass.at(text, from);
    if ((kind & letters) != 0) {
      return CharClass.run(text, from, to, letters);
    }
    if ((kind & CharClass.NUMBER) != 0) {
      return Splitter.numbers(text, from, to, numbers);
    }
    int second = from + Utf8.length(b);
    if (second < to && !Splitter.isNewline(b)) {
      int next = CharClass.at(text, second);
      if ((next & letters) != 0) {
        return CharClass.run(text, second, to, letters);
      }
      if (b == ' ' && (next & (CharClass.SPACE | CharClass.NUMBER)) == 0) {
        return signs(text, second, to);
      }
    }
    if ((kind & CharClass.SPACE) == 0) {
      return signs(text, from, to);
    }
    return Splitter.space(text, from, to, CharClass.run(text, from, to, CharClass.SPACE), true);
  }

  private int signs(byte[] text, int from, int to) {
    int end = CharClass.runOfOthers(text, from, to, CharClass.SPACE | CharClass.NUMBER | letters);
    return Splitter.newlines(text, end, to);
  }
}
