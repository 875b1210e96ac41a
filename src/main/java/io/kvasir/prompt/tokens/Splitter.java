package io.kvasir.prompt.tokens;

/**
 * A splitter of texts into the words within which byte pairs are merged: a tokenizer's regular expression as
 * hand-written code. A word depends only on the text from its own start on, since none of these expressions has a
 * lookbehind.
 */
@FunctionalInterface
interface Splitter {
  /** The end of the word that begins at {@code from}, in {@code text[from, to)} that is not empty. */
  int end(byte[] text, int from, int to);

  /**
   * The end of an English contraction's tail ({@code 's 't 're 've 'm 'll 'd}) that begins with the apostrophe at
   * {@code at}, -1 if there is none. {@code anyCase} is {@code (?i:)}, to which ſ is an s.
   */
  static int contraction(byte[] text, int at, int to, boolean anyCase) {
    if (at + 1 >= to) {
      return -1;
    }
    int first = letter(text[at + 1], anyCase);
    return switch (first) {
      case 's', 't', 'm', 'd' -> at + 2;
      case 'l' -> at + 2 < to && letter(text[at + 2], anyCase) == 'l' ? at + 3 : -1;
      case 'r', 'v' -> at + 2 < to && letter(text[at + 2], anyCase) == 'e' ? at + 3 : -1;
      default -> {
        boolean longS = anyCase && at + 2 < to && text[at + 1] == (byte) 0xc5 && text[at + 2] == (byte) 0xbf;
        yield longS ? at + 3 : -1;
      }
    };
  }

  private static int letter(byte b, boolean anyCase) {
    return anyCase && b >= 'A' && b <= 'Z' ? b | 0x20 : b;
  }

  /**
   * The end of a word of white space: {@code \s*[\r\n]+|\s+(?!\S)|\s+}, without the first of these when
   * {@code lines} is false.
   */
  static int space(byte[] text, int from, int to, int runEnd, boolean lines) {
    if (lines) {
      for (int i = runEnd - 1; i >= from; i--) {
        if (isNewline(text[i])) {
          return i + 1;
        }
      }
    }
    if (runEnd == to) {
      return runEnd;
    }
    int last = runEnd - 1;
    while ((text[last] & 0xc0) == 0x80) {
      last--;
    }
    return last > from ? last : runEnd;
  }

  static boolean isNewline(byte b) {
    return b == '\n' || b == '\r';
  }

  static int newlines(byte[] text, int at, int to) {
    int end = at;
    while (end < to && isNewline(text[end])) {
      end++;
    }
    return end;
  }

  /** Up to {@code most} numbers. */
  static int numbers(byte[] text, int from, int to, int most) {
    int end = from;
    for (int i = 0; i < most && end < to && (CharClass.at(text, end) & CharClass.NUMBER) != 0; i++) {
      end += Utf8.length(text[end]);
    }
    return end;
  }
}
