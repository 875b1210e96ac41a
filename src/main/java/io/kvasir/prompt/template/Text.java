package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/** Python's str on Java strings: positions count code points, white space and case are Unicode's. */
public final class Text {
  private Text() {}

  /** {@code str.strip()}. */
  public static String strip(String s) {
    return strip(s, null);
  }

  /** {@code str.isspace()} of one character; all of them are in the basic plane. */
  static boolean isSpace(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f)
        || (c >= 0x85 && (c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a)
            || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000));
  }

  static boolean isPrintable(int c) {
    if (c < 0x7f) {
      return c >= ' ';
    }
    return switch (Character.getType(c)) {
      case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.PRIVATE_USE, Character.UNASSIGNED,
          Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR, Character.SPACE_SEPARATOR -> false;
      default -> true;
    };
  }

  static int length(RenderContext render, String s) {
    render.read(s.length());
    return s.codePointCount(0, s.length());
  }

  /** The Java index of a code point's position, clamped to the string. */
  static int index(RenderContext render, String s, long position) {
    int length = length(render, s);
    int p = Math.clamp(position, 0, length);
    return length == s.length() ? p : s.offsetByCodePoints(0, p);
  }

  /** Order by code points: -1, 0 or 1. */
  static int compare(String a, String b) {
    int n = Math.min(a.length(), b.length());
    for (int i = 0; i < n; i++) {
      char x = a.charAt(i);
      char y = b.charAt(i);
      if (x != y) {
        // Surrogates stand for code points above every other char.
        boolean highX = Character.isSurrogate(x);
        return highX == Character.isSurrogate(y) ? (x < y ? -1 : 1) : highX ? 1 : -1;
      }
    }
    return Integer.compare(a.length(), b.length());
  }

  /** The character at a position, from the end if negative; null if there is none. */
  static @Nullable String at(RenderContext render, String s, long position) {
    int length = length(render, s);
    long i = position < 0 ? position + length : position;
    if (i < 0 || i >= length) {
      return null;
    }
    return length == s.length() ? String.valueOf(s.charAt((int) i))
        : Character.toString(s.codePointAt(s.offsetByCodePoints(0, (int) i)));
  }

  static Iterator<@Nullable Object> characters(String s) {
    return new Iterator<>() {
      private int at;

      @Override
      public boolean hasNext() {
        return at < s.length();
      }

      @Override
      public Object next() {
        if (at >= s.length()) {
          throw new NoSuchElementException();
        }
        int c = s.codePointAt(at);
        at += Character.charCount(c);
        return Character.toString(c);
      }
    };
  }

  /** The text without the characters of {@code chars} at its ends; null is white space. */
  static String strip(String s, @Nullable String chars) {
    return strip(s, chars, true, true);
  }

  /** The same at one of the ends, or both. */
  public static String strip(String s, @Nullable String chars, boolean left, boolean right) {
    IntPredicate strips = chars == null ? c -> c <= 0xffff && isSpace((char) c) : oneOf(chars);
    int from = 0;
    while (left && from < s.length()) {
      int c = s.codePointAt(from);
      if (!strips.test(c)) {
        break;
      }
      from += Character.charCount(c);
    }
    int to = s.length();
    while (right && to > from) {
      int c = s.codePointBefore(to);
      if (!strips.test(c)) {
        break;
      }
      to -= Character.charCount(c);
    }
    return s.substring(from, to);
  }

  private static IntPredicate oneOf(String chars) {
    if (chars.length() <= 16) {
      return c -> chars.indexOf(c) >= 0;
    }
    int[] sorted = chars.codePoints().sorted().toArray();
    return c -> Arrays.binarySearch(sorted, c) >= 0;
  }

  public static String lower(String s) {
    return s.toLowerCase(Locale.ROOT);
  }

  static String upper(String s) {
    return s.toUpperCase(Locale.ROOT);
  }

  static String capitalize(String s) {
    if (s.isEmpty()) {
      return s;
    }
    int first = Character.charCount(s.codePointAt(0));
    return titleCase(s.substring(0, first)) + lower(s.substring(first));
  }

  /** One character in title case; letters that are two in upper case (ß) keep only the first large. */
  private static String titleCase(String character) {
    int c = character.codePointAt(0);
    int title = Character.toTitleCase(c);
    if (title != c) {
      return Character.toString(title);
    }
    String upper = upper(character);
    return upper.length() <= character.length() ? upper
        : upper.substring(0, 1) + lower(upper.substring(1));
  }

  /** {@code str.title()}: a letter after a letter is small, any other large. */
  static String title(String s) {
    StringBuilder out = new StringBuilder(s.length());
    boolean inWord = false;
    for (int i = 0; i < s.length(); ) {
      int c = s.codePointAt(i);
      if (c < 0x80) {
        out.append((char) (inWord ? Character.toLowerCase(c) : Character.toUpperCase(c)));
      } else {
        String character = Character.toString(c);
        out.append(inWord ? lower(character) : titleCase(character));
      }
      inWord = isCased(c);
      i += Character.charCount(c);
    }
    return out.toString();
  }

  static boolean isCased(int c) {
    return Character.isUpperCase(c) || Character.isLowerCase(c) || Character.isTitleCase(c);
  }

  /** {@code str.islower()}, {@code isupper()}: some letter has case, and none the other. */
  static boolean isCase(String s, boolean upper) {
    boolean some = false;
    for (int i = 0; i < s.length(); ) {
      int c = s.codePointAt(i);
      if (isCased(c)) {
        if (upper ? !Character.isUpperCase(c) : !Character.isLowerCase(c)) {
          return false;
        }
        some = true;
      }
      i += Character.charCount(c);
    }
    return some;
  }

  static String reverse(String s) {
    return new StringBuilder(s).reverse().toString();
  }

  /** {@code str.split()} at white space; a negative {@code limit} is none. */
  static List<String> splitSpace(RenderContext render, String s, long limit) {
    List<String> parts = new ArrayList<>();
    int i = 0;
    while (true) {
      while (i < s.length() && isSpace(s.charAt(i))) {
        i++;
      }
      if (i == s.length()) {
        return parts;
      }
      if (limit >= 0 && parts.size() >= limit) {
        add(render, parts, s, i, s.length());
        return parts;
      }
      int start = i;
      while (i < s.length() && !isSpace(s.charAt(i))) {
        i++;
      }
      add(render, parts, s, start, i);
    }
  }

  /** Adds a piece of a text that is about to be made. */
  private static void add(RenderContext render, List<String> parts, String s, int from, int to) {
    render.reserve(RenderBudget.ELEMENT + to - from);
    parts.add(s.substring(from, to));
  }

  /** {@code str.rsplit()} at white space. */
  static List<String> rsplitSpace(RenderContext render, String s, long limit) {
    List<String> parts = new ArrayList<>();
    int i = s.length();
    while (true) {
      while (i > 0 && isSpace(s.charAt(i - 1))) {
        i--;
      }
      if (i == 0) {
        return parts.reversed();
      }
      if (limit >= 0 && parts.size() >= limit) {
        add(render, parts, s, 0, i);
        return parts.reversed();
      }
      int end = i;
      while (i > 0 && !isSpace(s.charAt(i - 1))) {
        i--;
      }
      add(render, parts, s, i, end);
    }
  }

  static List<String> split(RenderContext render, String s, String separator, long limit) {
    List<String> parts = new ArrayList<>();
    TextSearch search = new TextSearch(render.budget(), separator);
    render.read(s.length());
    int from = 0;
    int found;
    while ((limit < 0 || parts.size() < limit) && (found = search.next(s, from, s.length())) >= 0) {
      add(render, parts, s, from, found);
      from = found + separator.length();
    }
    add(render, parts, s, from, s.length());
    return parts;
  }

  static List<String> rsplit(RenderContext render, String s, String separator, long limit) {
    List<String> parts = new ArrayList<>();
    TextSearch search = new TextSearch(render.budget(), separator);
    render.read(s.length());
    int to = s.length();
    int found;
    while ((limit < 0 || parts.size() < limit) && (found = search.previous(s, 0, to)) >= 0) {
      add(render, parts, s, found + separator.length(), to);
      to = found;
    }
    add(render, parts, s, 0, to);
    return parts.reversed();
  }

  static List<String> lines(RenderContext render, String s, boolean keepEnds) {
    List<String> lines = new ArrayList<>();
    int start = 0;
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '\n' || c == '\r' || c == 0x0b || c == 0x0c || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028
          || c == 0x2029) {
        int end = i;
        if (c == '\r' && i + 1 < s.length() && s.charAt(i + 1) == '\n') {
          i++;
        }
        add(render, lines, s, start, keepEnds ? i + 1 : end);
        start = i + 1;
      }
    }
    if (start < s.length()) {
      add(render, lines, s, start, s.length());
    }
    return lines;
  }

  /** {@code str.replace()}; a negative {@code limit} is none. */
  static String replace(RenderContext render, String s, String old, String with, long limit) {
    TextSearch search = new TextSearch(render.budget(), old);
    long all = old.isEmpty() ? length(render, s) + 1L : search.count(s, 0, s.length());
    long count = limit < 0 ? all : Math.min(all, limit);
    // Within the limits neither length is beyond an int, so the product is not beyond a long.
    long length = s.length() + count * ((long) with.length() - old.length());
    render.reserve(length);
    if (count == 0) {
      return s;
    }
    render.read(s.length());
    StringBuilder out = new StringBuilder((int) length);
    int from = 0;
    for (long i = 0; i < count; i++) {
      if (old.isEmpty()) {
        out.append(with);
        int next = from == s.length() ? from : s.offsetByCodePoints(from, 1);
        out.append(s, from, next);
        from = next;
      } else {
        int found = search.next(s, from, s.length());
        out.append(s, from, found).append(with);
        from = found + old.length();
      }
    }
    return out.append(s, from, s.length()).toString();
  }

  /** To {@code width} characters with {@code fill}; {@code align} is {@code '<'}, {@code '>'} or {@code '^'}. */
  static String pad(RenderContext render, String s, long width, String fill, char align) {
    long missing = width - length(render, s);
    long left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
    return padded(render, s, fill, left, missing);
  }

  /** {@code str.center()}, which gives the odd blank to the left when the width is odd. */
  static String center(RenderContext render, String s, long width, String fill) {
    long missing = width - length(render, s);
    return padded(render, s, fill, missing / 2 + (missing & width & 1), missing);
  }

  private static String padded(RenderContext render, String s, String fill, long left, long missing) {
    if (missing <= 0) {
      render.reserve(s.length());
      return s;
    }
    // A code point has at most two characters.
    render.reserve(missing > Integer.MAX_VALUE ? Long.MAX_VALUE : s.length() + missing * fill.length());
    return fill.repeat((int) left) + s + fill.repeat((int) (missing - left));
  }
}
