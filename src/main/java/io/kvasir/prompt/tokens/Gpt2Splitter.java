package io.kvasir.prompt.tokens;

/**
 * {@code 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+}.
 *
 * @param numbersApart every number is cut out before, so that the rest ends at it (StarCoder)
 */
record Gpt2Splitter(boolean numbersApart) implements Splitter {
  @Override
  public int end(byte[] text, int from, int to) {
    byte b = text[from];
    if (b == '\'') {
      int end = Splitter.contraction(text, from, to, false);
      if (end >= 0) {
        return end;
      }
    }
    int kind = CharClass.at(text, from);
    if (numbersApart && (kind & CharClass.NUMBER) != 0) {
      return from + Utf8.length(b);
    }
    int at = from;
    if (b == ' ' && from + 1 < to) {
      at++;
      kind = CharClass.at(text, at);
    }
    if ((kind & CharClass.LETTER) != 0) {
      return CharClass.run(text, at, to, CharClass.LETTER);
    }
    if ((kind & CharClass.NUMBER) != 0) {
      return numbersApart ? at : CharClass.run(text, at, to, CharClass.NUMBER);
    }
    if ((kind & CharClass.SPACE) == 0) {
      return CharClass.runOfOthers(text, at, to, CharClass.SPACE | CharClass.LETTER | CharClass.NUMBER);
    }
    int run = CharClass.run(text, from, to, CharClass.SPACE);
    boolean ends = run == to || (numbersApart && (CharClass.at(text, run) & CharClass.NUMBER) != 0);
    return Splitter.space(text, from, ends ? run : to, run, false);
  }
}
