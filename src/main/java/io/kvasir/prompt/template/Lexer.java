package io.kvasir.prompt.template;

import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * The lexer of templates, with Jinja2's rules for white space under {@code trim_blocks} and
 * {@code lstrip_blocks}: a newline after a statement or comment goes; blanks between the start of a line and a
 * statement or comment go; {@code -} takes all white space on its side; {@code +} keeps it all. One newline at the
 * end of the source goes, and every kind of newline becomes {@code \n}.
 */
final class Lexer {
  /** As many as Python reads. */
  private static final int MAX_DIGITS = 4300;

  private final String source;
  private final RenderBudget budget;
  private final List<Token> tokens = new ArrayList<>();
  private int at;
  private int line = 1;
  private int counted;
  /** Whether the last token ended with a newline, so that the next tag may be the first in its line. */
  private boolean lineStarting = true;

  private Lexer(String source, RenderBudget budget) {
    this.source = source;
    this.budget = budget;
  }

  static List<Token> tokens(String source, RenderBudget budget) {
    int longest = budget.limits().source();
    if (source.length() > longest) {
      throw new TemplateException.Syntax("a chat template may have at most " + longest + " characters", 0);
    }
    // Read by each of the steps below, and made once or twice.
    budget.reserve(2L * source.length());
    budget.steps(source.length() >> 3);
    String normal = source.replace("\r\n", "\n").replace('\r', '\n');
    if (normal.endsWith("\n")) {
      normal = normal.substring(0, normal.length() - 1);
    }
    Lexer lexer = new Lexer(normal, budget);
    lexer.root();
    return lexer.tokens;
  }

  private void root() {
    while (at < source.length()) {
      int tag = nextTag(at);
      if (tag < 0) {
        data(source.substring(at));
        at = source.length();
        break;
      }
      char kind = source.charAt(tag + 1);
      int inside = tag + 2;
      char sign = inside < source.length() ? source.charAt(inside) : 0;
      if (sign == '-' || sign == '+') {
        inside++;
      }
      data(before(tag, sign, kind != '{'));
      at = inside;
      lineStarting = false;
      switch (kind) {
        case '#' -> comment();
        case '{' -> {
          add(Token.Type.VARIABLE_BEGIN, "{{");
          inside("}}", Token.Type.VARIABLE_END, false);
        }
        default -> {
          if (!raw()) {
            add(Token.Type.BLOCK_BEGIN, "{%");
            inside("%}", Token.Type.BLOCK_END, true);
          }
        }
      }
    }
    add(Token.Type.END, "");
  }

  private int nextTag(int from) {
    for (int i = source.indexOf('{', from); i >= 0 && i + 1 < source.length(); i = source.indexOf('{', i + 1)) {
      char next = source.charAt(i + 1);
      if (next == '{' || next == '%' || next == '#') {
        return i;
      }
    }
    return -1;
  }

  /** The text up to a tag, without white space that the tag strips. */
  private String before(int tag, char sign, boolean lstrip) {
    int end = tag;
    if (sign == '-') {
      while (end > at && Text.isSpace(source.charAt(end - 1))) {
        end--;
      }
    } else if (sign != '+' && lstrip) {
      int from = tag;
      while (from > at && source.charAt(from - 1) != '\n' && Text.isSpace(source.charAt(from - 1))) {
        from--;
      }
      boolean startsLine = from > at ? source.charAt(from - 1) == '\n' : lineStarting;
      end = startsLine ? from : tag;
    }
    return source.substring(at, end);
  }

  private void comment() {
    int end = source.indexOf("#}", at);
    if (end < 0) {
      throw error("a comment is not closed with '#}'");
    }
    char sign = end > at ? source.charAt(end - 1) : 0;
    at = end + 2;
    after(sign, true);
  }

  /** Skips the white space after a closing tag, as its sign requires. */
  private void after(char sign, boolean trim) {
    if (sign == '-') {
      while (at < source.length() && Text.isSpace(source.charAt(at))) {
        at++;
      }
    } else if (trim && sign != '+' && at < source.length() && source.charAt(at) == '\n') {
      at++;
    }
    lineStarting = source.charAt(at - 1) == '\n';
  }

  /** Reads a {@code raw … endraw} block if one begins at the current position. */
  private boolean raw() {
    int i = word(at, "raw");
    if (i < 0) {
      return false;
    }
    boolean strip = source.startsWith("-%}", i);
    if (!strip && !source.startsWith("%}", i)) {
      return false;
    }
    at = strip ? i + 3 : i + 2;
    after(strip ? '-' : 0, false);
    for (int tag = source.indexOf("{%", at); tag >= 0; tag = source.indexOf("{%", tag + 2)) {
      int inside = tag + 2;
      char sign = inside < source.length() ? source.charAt(inside) : 0;
      if (sign == '-' || sign == '+') {
        inside++;
      }
      int close = word(inside, "endraw");
      if (close >= 0) {
        char closing = close < source.length() ? source.charAt(close) : 0;
        if (closing == '-' || closing == '+') {
          close++;
        }
        if (source.startsWith("%}", close)) {
          data(before(tag, sign, true));
          at = close + 2;
          after(closing, true);
          return true;
        }
      }
    }
    throw error("a raw block is not closed with '{% endraw %}'");
  }

  /** Where the text goes on after {@code word} with blanks around it, or -1. */
  private int word(int from, String word) {
    int i = spaces(from);
    return source.startsWith(word, i) ? spaces(i + word.length()) : -1;
  }

  private int spaces(int from) {
    int i = from;
    while (i < source.length() && Text.isSpace(source.charAt(i))) {
      i++;
    }
    return i;
  }

  private void inside(String close, Token.Type closeType, boolean trim) {
    Deque<Character> open = new ArrayDeque<>();
    while (true) {
      at = spaces(at);
      if (at >= source.length()) {
        throw error("a tag is not closed with '" + close + "'");
      }
      char c = source.charAt(at);
      if (open.isEmpty()) {
        boolean signed = (c == '-' || (c == '+' && trim)) && source.startsWith(close, at + 1);
        if (signed || source.startsWith(close, at)) {
          add(closeType, close);
          at += signed ? 3 : 2;
          after(signed ? c : 0, trim);
          return;
        }
      }
      if (isDigit(c)) {
        number();
      } else if (c == '_' || Character.isLetter(c)) {
        int start = at;
        while (at < source.length() && (source.charAt(at) == '_' || Character.isLetterOrDigit(source.charAt(at)))) {
          at++;
        }
        add(Token.Type.NAME, source.substring(start, at).intern());
      } else if (c == '\'' || c == '"') {
        string(c);
      } else {
        operator(c, open);
      }
    }
  }

  private void string(char quote) {
    int start = ++at;
    while (at < source.length() && source.charAt(at) != quote) {
      at += source.charAt(at) == '\\' ? 2 : 1;
    }
    if (at >= source.length()) {
      throw error("a string is not closed");
    }
    String raw = source.substring(start, at);
    at++;
    add(Token.Type.STRING, raw.indexOf('\\') < 0 ? raw : unescape(raw));
  }

  private void number() {
    int start = at;
    digits(10);
    boolean prefixed = at == start + 1 && source.charAt(start) == '0' && at < source.length();
    int radix = !prefixed ? 10 : switch (source.charAt(at)) {
      case 'x', 'X' -> 16;
      case 'o', 'O' -> 8;
      case 'b', 'B' -> 2;
      default -> 10;
    };
    if (radix != 10) {
      int digits = ++at;
      digits(radix);
      add(Token.Type.INTEGER, integer(source.substring(digits, at), radix));
      return;
    }
    int whole = at;
    // After a dot, digits are a list's index: foo.0.1
    boolean index = start > 0 && source.charAt(start - 1) == '.';
    if (!index && peek(0) == '.' && isDigit(peek(1))) {
      at++;
      digits(10);
    }
    if (!index && (peek(0) == 'e' || peek(0) == 'E')) {
      int sign = peek(1) == '-' || peek(1) == '+' ? 1 : 0;
      if (isDigit(peek(1 + sign))) {
        at += 1 + sign;
        digits(10);
      }
    }
    String text = source.substring(start, at).replace("_", "");
    if (at > whole) {
      add(Token.Type.FLOAT, text);
    } else {
      add(Token.Type.INTEGER, integer(text, 10));
    }
  }

  private void digits(int radix) {
    while (Character.digit(peek(0), radix) >= 0 || (peek(0) == '_' && Character.digit(peek(1), radix) >= 0)) {
      at++;
    }
  }

  private String integer(String digits, int radix) {
    String plain = digits.replace("_", "");
    if (plain.isEmpty() || plain.length() > MAX_DIGITS) {
      throw error("a number must have 1 to " + MAX_DIGITS + " digits");
    }
    return plain.length() < 16 ? Long.toString(Long.parseLong(plain, radix)) : new BigInteger(plain, radix).toString();
  }

  private char peek(int ahead) {
    return at + ahead < source.length() ? source.charAt(at + ahead) : 0;
  }

  private void operator(char c, Deque<Character> open) {
    char next = peek(1);
    boolean two = (next == '=' && "=!<>".indexOf(c) >= 0) || (next == c && (c == '/' || c == '*'));
    if (!two && "+-/*%~[](){}<>=.:|,;".indexOf(c) < 0) {
      throw error("unexpected character '" + Character.toString(source.codePointAt(at)) + "'");
    }
    switch (c) {
      case '(' -> open.push(')');
      case '[' -> open.push(']');
      case '{' -> open.push('}');
      case ')', ']', '}' -> {
        if (open.isEmpty() || open.pop() != c) {
          throw error("unexpected '" + c + "'");
        }
      }
      default -> {
        // No bracket.
      }
    }
    String text = source.substring(at, at + (two ? 2 : 1));
    add(Token.Type.OPERATOR, text);
    at += text.length();
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private void data(String text) {
    if (!text.isEmpty()) {
      add(Token.Type.DATA, text);
    }
  }

  private void add(Token.Type type, String text) {
    budget.elements(2);
    tokens.add(new Token(type, text, line()));
  }

  private int line() {
    int to = Math.min(at, source.length());
    for (; counted < to; counted++) {
      if (source.charAt(counted) == '\n') {
        line++;
      }
    }
    return line;
  }

  private TemplateException.Syntax error(String message) {
    return new TemplateException.Syntax(message, line());
  }

  /** Python's {@code unicode-escape}: an escape it does not know stays as written. */
  private String unescape(String raw) {
    StringBuilder out = new StringBuilder(raw.length());
    for (int i = 0; i < raw.length(); i++) {
      char c = raw.charAt(i);
      if (c != '\\') {
        out.append(c);
        continue;
      }
      char e = raw.charAt(++i);
      switch (e) {
        case '\n' -> {
          // An escaped end of line continues the string.
        }
        case '\\', '\'', '"' -> out.append(e);
        case 'n' -> out.append('\n');
        case 't' -> out.append('\t');
        case 'r' -> out.append('\r');
        case 'b' -> out.append('\b');
        case 'f' -> out.append('\f');
        case 'a' -> out.append('\u0007');
        case 'v' -> out.append('\u000b');
        case 'x', 'u', 'U' -> {
          int digits = e == 'x' ? 2 : e == 'u' ? 4 : 8;
          out.appendCodePoint(hex(raw, i + 1, digits));
          i += digits;
        }
        case '0', '1', '2', '3', '4', '5', '6', '7' -> {
          int value = 0;
          int end = Math.min(i + 3, raw.length());
          for (; i < end && raw.charAt(i) >= '0' && raw.charAt(i) <= '7'; i++) {
            value = value * 8 + raw.charAt(i) - '0';
          }
          i--;
          out.append((char) value);
        }
        default -> out.append(c).append(e);
      }
    }
    return out.toString();
  }

  private int hex(String raw, int from, int digits) {
    int value = 0;
    for (int i = from; i < from + digits; i++) {
      int digit = i < raw.length() ? Character.digit(raw.charAt(i), 16) : -1;
      if (digit < 0 || value > Character.MAX_CODE_POINT >> 4) {
        throw error("a string has an incomplete or impossible \\x, \\u or \\U escape");
      }
      value = value * 16 + digit;
    }
    if (value > Character.MAX_CODE_POINT) {
      throw error("a string has an escape beyond the last code point");
    }
    return value;
  }
}
