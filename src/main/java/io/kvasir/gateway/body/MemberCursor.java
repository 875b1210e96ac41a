package io.kvasir.gateway.body;

import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_32BE;
import static java.nio.charset.StandardCharsets.UTF_32LE;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.charset.Charset;

/**
 * The members of a JSON object in the order in which they come, found by one pass over its bytes. Whatever the bytes
 * are, it makes no objects, does not recurse, and ends. It is more lenient than any parser: what lies deeper than the
 * object's own members is passed over without a look at its form, so that it also gets through JSON that is too deep,
 * too large or not quite right for those. One thread at a time.
 */
public final class MemberCursor {
  private final byte[] json;
  private final int to;
  private int at;
  private boolean begun;
  private boolean open;
  private int nameFrom;
  private int nameTo;
  private int valueFrom;
  private int valueTo;

  /** Before the first member of an object in UTF-8. */
  MemberCursor(byte[] json) {
    this(json, isMarked(json) ? 3 : 0, json.length);
  }

  /** The same in any encoding in which parsers take JSON: of one other than UTF-8 a copy is made. */
  public static MemberCursor ofAnyEncoding(byte[] json) {
    Charset encoding = encoding(json);
    return new MemberCursor(encoding.equals(UTF_8) ? json : new String(json, encoding).getBytes(UTF_8));
  }

  /** By the mark that it begins with, or by the zeros around its first character. */
  private static Charset encoding(byte[] json) {
    if (json.length < 4) {
      return UTF_8;
    }
    int first = pair(json, 0);
    int second = pair(json, 2);
    return switch (first) {
      case 0 -> UTF_32BE;
      case 0xfeff -> UTF_16BE;
      case 0xfffe -> second == 0 ? UTF_32LE : UTF_16LE;
      default -> json[0] == 0 ? UTF_16BE : json[1] != 0 ? UTF_8 : second == 0 ? UTF_32LE : UTF_16LE;
    };
  }

  private static int pair(byte[] json, int at) {
    return (Byte.toUnsignedInt(json[at]) << 8) | Byte.toUnsignedInt(json[at + 1]);
  }

  private MemberCursor(byte[] json, int from, int to) {
    this.json = json;
    this.at = from;
    this.to = to;
  }

  /** Whether there is the mark of UTF-8, which parsers pass over. */
  private static boolean isMarked(byte[] json) {
    return json.length >= 3 && json[0] == (byte) 0xef && json[1] == (byte) 0xbb && json[2] == (byte) 0xbf;
  }

  /** Goes to the next member; false when there is none, or what follows is none of an object. */
  public boolean next() {
    if (!begun) {
      begun = true;
      open = takes('{');
    } else {
      open = open && takes(',');
    }
    open = open && name() && takes(':') && value();
    return open;
  }

  private boolean name() {
    skipBlanks();
    if (at >= to || json[at] != '"') {
      return false;
    }
    nameFrom = at + 1;
    skipText();
    nameTo = at - 1;
    return at <= to && nameTo >= nameFrom;
  }

  private boolean value() {
    skipBlanks();
    valueFrom = at;
    if (at >= to) {
      return false;
    }
    switch (json[at]) {
      case '"' -> skipText();
      case '{', '[' -> skipNested();
      default -> skipWord();
    }
    valueTo = at;
    return at <= to && valueTo > valueFrom;
  }

  /** Passes blanks and one character, if that follows. */
  private boolean takes(char expected) {
    skipBlanks();
    boolean follows = at < to && json[at] == expected;
    at += follows ? 1 : 0;
    return follows;
  }

  private void skipBlanks() {
    while (at < to && isBlank(json[at])) {
      at++;
    }
  }

  /** Passes a text with its quotes; ends beyond {@link #to} when it has no end. */
  private void skipText() {
    at++;
    while (at < to && json[at] != '"') {
      at += json[at] == '\\' ? 2 : 1;
    }
    at = Math.min(at, to) + 1;
  }

  /** The same with an object or a list. */
  private void skipNested() {
    int depth = 0;
    do {
      switch (json[at]) {
        case '"' -> {
          skipText();
          continue;
        }
        case '{', '[' -> depth++;
        case '}', ']' -> depth--;
        default -> {
          // Of no interest.
        }
      }
      at++;
    } while (depth > 0 && at < to);
    at = depth > 0 ? to + 1 : at;
  }

  private void skipWord() {
    while (at < to && !isBlank(json[at]) && ",}]:".indexOf(json[at]) < 0) {
      at++;
    }
  }

  private static boolean isBlank(byte b) {
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
  }

  /** Whether the member has this name, which is ASCII; escapes count as what they stand for. */
  public boolean isNamed(String name) {
    return afterBeginning(name) == nameTo;
  }

  /** Whether the member's name begins so. */
  public boolean isNamedFrom(String beginning) {
    return afterBeginning(beginning) >= 0;
  }

  /** Where the name goes on after a beginning, -1 when it begins otherwise. */
  private int afterBeginning(String beginning) {
    int next = nameFrom;
    for (int i = 0; i < beginning.length(); i++) {
      if (next >= nameTo) {
        return -1;
      }
      int character = json[next];
      int length = 1;
      if (character == '\\') {
        character = escaped(next + 1);
        length = next + 1 < nameTo && json[next + 1] == 'u' ? 6 : 2;
      }
      if (character != beginning.charAt(i)) {
        return -1;
      }
      next += length;
    }
    return next;
  }

  /** What an escape stands for, as far as names of members have such characters; -1 for all others. */
  private int escaped(int letter) {
    if (letter >= nameTo) {
      return -1;
    }
    if (json[letter] != 'u') {
      return json[letter] == '/' ? '/' : -1;
    }
    if (letter + 4 >= nameTo) {
      return -1;
    }
    int unit = 0;
    for (int i = letter + 1; i <= letter + 4; i++) {
      int digit = Character.digit(json[i], 16);
      if (digit < 0) {
        return -1;
      }
      unit = 16 * unit + digit;
    }
    return unit;
  }

  /** Where the member's value begins. */
  int valueFrom() {
    return valueFrom;
  }

  /** Where it ends. */
  int valueTo() {
    return valueTo;
  }

  /** Whether the value is a text. */
  boolean isText() {
    return json[valueFrom] == '"';
  }

  /** Whether it is this word. */
  boolean isWord(String word) {
    if (valueTo - valueFrom != word.length()) {
      return false;
    }
    for (int i = 0; i < word.length(); i++) {
      if (json[valueFrom + i] != word.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** The value's own members; none when it is no object. */
  public MemberCursor nested() {
    return new MemberCursor(json, valueFrom, valueTo);
  }
}
