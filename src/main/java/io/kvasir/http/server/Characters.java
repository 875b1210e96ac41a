package io.kvasir.http.server;

/** The character classes of HTTP's syntax (RFC 9110 §5.5, §5.6) and of UTF-8, for single bytes. */
final class Characters {
  private static final String TOKEN_MARKS = "!#$%&'*+-.^_`|~";
  private static final boolean[] TOKEN = new boolean[128];

  static {
    for (char c = '!'; c < 127; c++) {
      TOKEN[c] =
          (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || TOKEN_MARKS.indexOf(c) >= 0;
    }
  }

  private Characters() {}

  /** Whether it may stand in a method or a header's name. */
  static boolean isToken(byte b) {
    return b > 0 && TOKEN[b];
  }

  /** Whether it is a printed ASCII character. */
  static boolean isVisible(byte b) {
    return b > ' ' && b < 127;
  }

  static boolean isBlank(byte b) {
    return b == ' ' || b == '\t';
  }

  /** Whether it may stand in a header's value: anything but control characters. */
  static boolean isText(byte b) {
    return b < 0 || (b >= ' ' && b != 127) || b == '\t';
  }

  /** How many bytes the UTF-8 sequence has that begins with a byte above ASCII; 0 when none does. */
  static int utf8Length(byte first) {
    int b = first & 0xff;
    if (b < 0xc2 || b > 0xf4) {
      return 0;
    }
    return b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
  }

  /** Whether it may follow within a UTF-8 sequence. */
  static boolean isUtf8Continuation(byte b) {
    return (b & 0xc0) == 0x80;
  }

  /** A hexadecimal digit's value, -1 for what is none. */
  static int hex(byte b) {
    return Character.digit(b & 0x7f, 16) | (b >> 31);
  }

  /** Whether the bytes are {@code lower}, in any case. */
  static boolean equalsIgnoringCase(byte[] in, int from, int to, byte[] lower) {
    if (to - from != lower.length) {
      return false;
    }
    for (int i = 0; i < lower.length; i++) {
      int c = in[from + i];
      if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != lower[i]) {
        return false;
      }
    }
    return true;
  }
}
