package io.kvasir.sim.text;

import io.kvasir.sim.json.EngineApiException;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * A text that a regular expression matches: literals, classes, groups, alternatives and repetitions. What it made is
 * matched, so that an expression which asks for more (looking around, references) is refused. Used by one thread.
 */
final class PatternExample {
  private static final int MOST_ELEMENTS = 100_000;
  private static final int DEEPEST = 100;
  /** What a group begins with that does no more than to group. */
  private static final Pattern GROUP = Pattern.compile("\\?(:|P?<[A-Za-z]\\w*>)");
  private static final char FIRST_PRINTABLE = ' ';
  private static final char LAST_PRINTABLE = '~';

  private final String pattern;
  private final SplittableRandom random;
  private int at;
  private int elements;
  private int depth;

  private PatternExample(String pattern, SplittableRandom random) {
    this.pattern = pattern;
    this.random = random;
  }

  /** A text in which {@code pattern} is found. */
  static String found(String pattern, SplittableRandom random) throws EngineApiException {
    String made = new PatternExample(pattern, random).made();
    check(pattern, made, Matcher::find);
    return made;
  }

  /** A text that {@code pattern} matches as a whole. */
  static String matching(String pattern, SplittableRandom random) throws EngineApiException {
    String made = new PatternExample(pattern, random).made();
    check(pattern, made, Matcher::matches);
    return made;
  }

  /** In bounded time and depth, whatever the pattern: the client's words, which may try all ways before they fail. */
  private static void check(String pattern, String made, Predicate<Matcher> matches) throws EngineApiException {
    boolean isMatched;
    try {
      isMatched = matches.test(compiled(pattern).matcher(new BoundedText(made)));
    } catch (BoundedText.TooManyReads | StackOverflowError tooMuch) {
      isMatched = false;
    }
    if (!isMatched) {
      throw unsupported(pattern);
    }
  }

  private String made() throws EngineApiException {
    StringBuilder out = new StringBuilder();
    try {
      alternatives(out);
    } catch (IndexOutOfBoundsException | NumberFormatException e) {
      throw unsupported(pattern);
    }
    if (at < pattern.length()) {
      throw unsupported(pattern);
    }
    return out.toString();
  }

  private static Pattern compiled(String pattern) throws EngineApiException {
    try {
      return Pattern.compile(pattern.replace("(?P<", "(?<"), Pattern.UNICODE_CHARACTER_CLASS);
    } catch (PatternSyntaxException e) {
      throw unsupported(pattern);
    }
  }

  private static EngineApiException unsupported(String pattern) {
    return EngineApiException.badRequest(
        "The simulated engine cannot answer by this regular expression, only by plain ones: " + pattern);
  }

  /** One of them, each as likely; the others are read past. */
  private void alternatives(StringBuilder out) throws EngineApiException {
    int begin = out.length();
    int seen = 0;
    String kept = "";
    do {
      at += seen == 0 ? 0 : 1;
      out.setLength(begin);
      sequence(out);
      seen++;
      kept = random.nextInt(seen) == 0 ? out.substring(begin) : kept;
    } while (at < pattern.length() && pattern.charAt(at) == '|');
    out.setLength(begin);
    out.append(kept);
  }

  private void sequence(StringBuilder out) throws EngineApiException {
    while (at < pattern.length() && pattern.charAt(at) != '|' && pattern.charAt(at) != ')') {
      int begin = at;
      int before = out.length();
      element(out);
      int repeats = repeats();
      int after = at;
      if (repeats == 0) {
        out.setLength(before);
      }
      for (int i = 1; i < repeats; i++) {
        at = begin;
        element(out);
        at = after;
      }
    }
  }

  private int repeats() {
    if (at >= pattern.length()) {
      return 1;
    }
    int least;
    int most;
    switch (pattern.charAt(at)) {
      case '*' -> {
        least = 0;
        most = 3;
      }
      case '+' -> {
        least = 1;
        most = 4;
      }
      case '?' -> {
        least = 0;
        most = 1;
      }
      case '{' -> {
        int close = pattern.indexOf('}', at);
        String[] bounds = pattern.substring(at + 1, close).split(",", -1);
        least = bounds[0].isEmpty() ? 0 : Integer.parseInt(bounds[0]);
        most = bounds.length == 1 ? least : bounds[1].isEmpty() ? least + 2 : Integer.parseInt(bounds[1]);
        at = close;
      }
      default -> {
        return 1;
      }
    }
    at++;
    if (at < pattern.length() && (pattern.charAt(at) == '?' || pattern.charAt(at) == '+')) {
      at++;
    }
    return least + (most > least ? random.nextInt(most - least + 1) : 0);
  }

  private void element(StringBuilder out) throws EngineApiException {
    if (++elements > MOST_ELEMENTS) {
      throw unsupported(pattern);
    }
    char c = pattern.charAt(at++);
    switch (c) {
      case '^', '$' -> { }
      case '.' -> out.append(letter());
      case '(' -> group(out);
      case '[' -> out.append(ofClass());
      case '\\' -> escaped(out);
      default -> out.append(c);
    }
  }

  private void group(StringBuilder out) throws EngineApiException {
    Matcher kind = GROUP.matcher(pattern).region(at, pattern.length());
    if (kind.lookingAt()) {
      at = kind.end();
    } else if (pattern.charAt(at) == '?') {
      throw unsupported(pattern);
    }
    if (++depth > DEEPEST) {
      throw unsupported(pattern);
    }
    alternatives(out);
    depth--;
    if (pattern.charAt(at++) != ')') {
      throw unsupported(pattern);
    }
  }

  private void escaped(StringBuilder out) throws EngineApiException {
    char c = pattern.charAt(at++);
    switch (c) {
      case 'b', 'A', 'z', 'Z' -> { }
      case 'd' -> out.append((char) ('0' + random.nextInt(10)));
      case 'w', 'D', 'S' -> out.append(letter());
      case 's', 'W' -> out.append(' ');
      case 'n' -> out.append('\n');
      case 't' -> out.append('\t');
      default -> {
        if (Character.isLetterOrDigit(c)) {
          throw unsupported(pattern);
        }
        out.append(c);
      }
    }
  }

  /** A character of the class that begins at the bracket before; all that are printable are tried. */
  private char ofClass() throws EngineApiException {
    int begin = at - 1;
    if (pattern.charAt(at) == '^') {
      at++;
    }
    do {
      at += pattern.charAt(at) == '\\' ? 2 : 1;
    } while (pattern.charAt(at) != ']');
    at++;
    Pattern one = compiled(pattern.substring(begin, at));
    char from = letter();
    for (int i = 0; i <= LAST_PRINTABLE - FIRST_PRINTABLE; i++) {
      char c = (char) (FIRST_PRINTABLE + (from - FIRST_PRINTABLE + i) % (LAST_PRINTABLE - FIRST_PRINTABLE + 1));
      if (one.matcher(String.valueOf(c)).matches()) {
        return c;
      }
    }
    throw unsupported(pattern);
  }

  private char letter() {
    return (char) ('a' + random.nextInt(26));
  }
}
