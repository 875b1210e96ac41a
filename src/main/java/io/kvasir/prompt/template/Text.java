package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/** Python's str on Java strings: positions count code points, white space and case are Unicode's. */
final class Text {
  private Text() {}

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

  static int length(String s) {
    return s.codePointCount(0, s.length());
  }

  private static boolean isBasic(String s) {
    return length(s) == s.length();
  }

  /** The Java index of a code point's position, clamped to the string. */
  static int index(String s, long position) {
    int length = length(s);
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
  static @Nullable String at(String s, long position) {
    if (isBasic(s)) {
      long i = position < 0 ? position + s.length() : position;
      return i >= 0 && i < s.length() ? String.valueOf(s.charAt((int) i)) : null;
    }
    int length = length(s);
    long i = position < 0 ? position + length : position;
    return i >= 0 && i < length ? Character.toString(s.codePointAt(s.offsetByCodePoints(0, (int) i))) : null;
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

  static String strip(String s, @Nullable String chars) {
    return lstrip(rstrip(s, chars), chars);
  }

  static String lstrip(String s, @Nullable String chars) {
    int from = 0;
    while (from < s.length()) {
      int c = s.codePointAt(from);
      if (!strips(c, chars)) {
        break;
      }
      from += Character.charCount(c);
    }
    return s.substring(from);
  }

  static String rstrip(String s, @Nullable String chars) {
    int to = s.length();
    while (to > 0) {
      int c = s.codePointBefore(to);
      if (!strips(c, chars)) {
        break;
      }
      to -= Character.charCount(c);
    }
    return s.substring(0, to);
  }

  private static boolean strips(int c, @Nullable String chars) {
    return chars == null ? c <= 0xffff && isSpace((char) c) : chars.indexOf(c) >= 0;
  }

  static String lower(String s) {
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
      String character = Character.toString(c);
      out.append(inWord ? lower(character) : titleCase(character));
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
  static List<String> splitSpace(String s, long limit) {
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
        parts.add(s.substring(i));
        return parts;
      }
      int start = i;
      while (i < s.length() && !isSpace(s.charAt(i))) {
        i++;
      }
      parts.add(s.substring(start, i));
    }
  }

  /** {@code str.rsplit()} at white space. */
  static List<String> rsplitSpace(String s, long limit) {
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
        parts.add(s.substring(0, i));
        return parts.reversed();
      }
      int end = i;
      while (i > 0 && !isSpace(s.charAt(i - 1))) {
        i--;
      }
      parts.add(s.substring(i, end));
    }
  }

  static List<String> split(String s, String separator, long limit) {
    List<String> parts = new ArrayList<>();
    int from = 0;
    int found;
    while ((limit < 0 || parts.size() < limit) && (found = s.indexOf(separator, from)) >= 0) {
      parts.add(s.substring(from, found));
      from = found + separator.length();
    }
    parts.add(s.substring(from));
    return parts;
  }

  static List<String> rsplit(String s, String separator, long limit) {
    List<String> parts = new ArrayList<>();
    int to = s.length();
    int found;
    while ((limit < 0 || parts.size() < limit)
        && (found = s.lastIndexOf(separator, to - separator.length())) >= 0) {
      parts.add(s.substring(found + separator.length(), to));
      to = found;
    }
    parts.add(s.substring(0, to));
    return parts.reversed();
  }

  static List<String> lines(String s, boolean keepEnds) {
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
        lines.add(s.substring(start, keepEnds ? i + 1 : end));
        start = i + 1;
      }
    }
    if (start < s.length()) {
      lines.add(s.substring(start));
    }
    return lines;
  }

  static String replace(String s, String old, String with, long count) {
    if (count < 0 && !old.isEmpty()) {
      return s.replace(old, with);
    }
    StringBuilder out = new StringBuilder(s.length());
    long left = count < 0 ? Long.MAX_VALUE : count;
    if (old.isEmpty()) {
      for (int i = 0; i < s.length(); ) {
        if (left-- > 0) {
          out.append(with);
        }
        int c = s.codePointAt(i);
        out.appendCodePoint(c);
        i += Character.charCount(c);
      }
      return left > 0 ? out.append(with).toString() : out.toString();
    }
    int from = 0;
    int found;
    while (left-- > 0 && (found = s.indexOf(old, from)) >= 0) {
      out.append(s, from, found).append(with);
      from = found + old.length();
    }
    return out.append(s, from, s.length()).toString();
  }

  /** To {@code width} characters with {@code fill}; {@code align} is {@code '<'}, {@code '>'} or {@code '^'}. */
  static String pad(String s, long width, String fill, char align) {
    long missing = width - length(s);
    if (missing <= 0) {
      return s;
    }
    int left = (int) (align == '<' ? 0 : align == '>' ? missing : missing / 2);
    return fill.repeat(left) + s + fill.repeat((int) missing - left);
  }

  /** {@code str.center()}, which gives the odd blank to the left when the width is odd. */
  static String center(String s, long width, String fill) {
    long missing = width - length(s);
    if (missing <= 0) {
      return s;
    }
    int left = (int) (missing / 2 + (missing & width & 1));
    return fill.repeat(left) + s + fill.repeat((int) missing - left);
  }
}
