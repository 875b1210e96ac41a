package io.kvasir.prompt.tokens;

/** Code points of well-formed UTF-8, and the properties of them that tokenizers use. */
final class Utf8 {
  private Utf8() {}

  /** The code point that begins at {@code at}. */
  static int codePoint(byte[] text, int at) {
    int b = text[at];
    if (b >= 0) {
      return b;
    }
    if (b < (byte) 0xe0) {
      return ((b & 0x1f) << 6) | (text[at + 1] & 0x3f);
    }
    if (b < (byte) 0xf0) {
      return ((b & 0x0f) << 12) | ((text[at + 1] & 0x3f) << 6) | (text[at + 2] & 0x3f);
    }
    return ((b & 0x07) << 18)
        | ((text[at + 1] & 0x3f) << 12)
        | ((text[at + 2] & 0x3f) << 6)
        | (text[at + 3] & 0x3f);
  }

  /** Bytes of the code point that begins with {@code lead}. */
  static int length(byte lead) {
    return lead >= 0 ? 1 : lead < (byte) 0xe0 ? 2 : lead < (byte) 0xf0 ? 3 : 4;
  }

  private static int before(byte[] text, int at) {
    int start = at - 1;
    while ((text[start] & 0xc0) == 0x80) {
      start--;
    }
    return start;
  }

  static boolean isAsciiLetter(byte b) {
    int lower = b | 0x20;
    return lower >= 'a' && lower <= 'z';
  }

  /** Unicode's White_Space, the {@code \s} of the regular expressions that tokenizers use. */
  static boolean isSpace(int codePoint) {
    return (codePoint >= 9 && codePoint <= 13)
        || codePoint == ' '
        || codePoint == 0x85
        || (codePoint >= 0xa0 && Character.isSpaceChar(codePoint));
  }

  /** Unicode's {@code \w}. */
  static boolean isWord(int codePoint) {
    return Character.isAlphabetic(codePoint)
        || codePoint == 0x200c
        || codePoint == 0x200d
        || switch (Character.getType(codePoint)) {
          case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.COMBINING_SPACING_MARK,
              Character.DECIMAL_DIGIT_NUMBER, Character.CONNECTOR_PUNCTUATION -> true;
          default -> false;
        };
  }

  static boolean wordBefore(byte[] text, int at, int from) {
    return at > from && isWord(codePoint(text, before(text, at)));
  }

  static boolean wordAt(byte[] text, int at, int to) {
    return at < to && isWord(codePoint(text, at));
  }

  /** The start of the white space that ends at {@code at}. */
  static int spaceBefore(byte[] text, int at, int from) {
    int start = at;
    while (start > from) {
      int previous = before(text, start);
      if (!isSpace(codePoint(text, previous))) {
        break;
      }
      start = previous;
    }
    return start;
  }

  /** The end of the white space that begins at {@code at}. */
  static int spaceAfter(byte[] text, int at, int to) {
    int end = at;
    while (end < to && isSpace(codePoint(text, end))) {
      end += length(text[end]);
    }
    return end;
  }
}
