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
    int kind = Kind.at(text, from);
    if (numbersApart && (kind & Kind.NUMBER) != 0) {
      return from + Utf8.length(b);
    }
    int at = from;
    if (b == ' ' && from + 1 < to) {
      at++;
      kind = Kind.at(text, at);
    }
    if ((kind & Kind.LETTER) != 0) {
      return Kind.run(text, at, to, Kind.LETTER);
    }
    if ((kind & Kind.NUMBER) != 0) {
      return numbersApart ? at : Kind.run(text, at, to, Kind.NUMBER);
    }
    if ((kind & Kind.SPACE) == 0) {
      return Kind.runOfOthers(text, at, to, Kind.SPACE | Kind.LETTER | Kind.NUMBER);
    }
    int run = Kind.run(text, from, to, Kind.SPACE);
    boolean ends = run == to || (numbersApart && (Kind.at(text, run) & Kind.NUMBER) != 0);
    return Splitter.space(text, from, ends ? run : to, run, false);
  }
}
