package io.kvasir.prompt.template;

import org.jspecify.annotations.Nullable;

/** A place in a format's text. */
final class FormatScanner {
  private final String text;
  private int at;

  FormatScanner(String text) {
    this.text = text;
  }

  boolean atEnd() {
    return at >= text.length();
  }

  /** The next character, or 0 at the end. */
  char peek() {
    return atEnd() ? 0 : text.charAt(at);
  }

  boolean peekIn(String characters) {
    return peek() != 0 && characters.indexOf(peek()) >= 0;
  }

  boolean peekSecondIn(String characters) {
    return at + 1 < text.length() && characters.indexOf(text.charAt(at + 1)) >= 0;
  }

  /** Reads a character; 0 at the end. */
  char next() {
    char c = peek();
    at++;
    return c;
  }

  boolean skip(char expected) {
    boolean found = peek() == expected;
    at += found ? 1 : 0;
    return found;
  }

  /** Reads digits; -1 if there are none, and at most some hundred millions. */
  int number() {
    int start = at;
    int value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = Math.min(100_000_000, value * 10 + next() - '0');
    }
    return at == start ? -1 : value;
  }

  /** Reads up to one of these characters or the end. */
  String until(String characters) {
    int start = at;
    while (peek() != 0 && !peekIn(characters)) {
      at++;
    }
    return text.substring(start, at);
  }

  /** Reads up to a character and past it; null, and nothing is read, if it does not come. */
  @Nullable String past(char end) {
    int close = text.indexOf(end, at);
    if (close < 0) {
      return null;
    }
    String before = text.substring(at, close);
    at = close + 1;
    return before;
  }

  /** Reads up to the brace that closes the one around this place; null if it does not come. */
  @Nullable String untilClosingBrace() {
    int start = at;
    for (int open = 0; open > 0 || peek() != '}'; at++) {
      if (atEnd()) {
        return null;
      }
      open += peek() == '{' ? 1 : peek() == '}' ? -1 : 0;
    }
    return text.substring(start, at);
  }
}
