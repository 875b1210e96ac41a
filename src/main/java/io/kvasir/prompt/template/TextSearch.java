package io.kvasir.prompt.template;

import org.jspecify.annotations.Nullable;

/**
 * The search for one text in others, in time that is linear in both lengths: a long text is found with the algorithm of
 * Knuth, Morris and Pratt. Not thread-safe.
 */
public final class TextSearch {
  /** Up to here the JDK's search, quicker by far, compares each character with few others. */
  private static final int SHORT = 16;

  private final RenderBudget budget;
  private final String part;
  private int @Nullable [] forwards;
  private int @Nullable [] backwards;

  /** A search for a part, charged to a budget. */
  public TextSearch(RenderBudget budget, String part) {
    this.budget = budget;
    this.part = part;
  }

  /** Index of the first occurrence within {@code from} and {@code to}, or -1. */
  public int first(String text, int from, int to) {
    budget.read(Math.max(0, to - from));
    return next(text, from, to);
  }

  /** Index of the last occurrence within {@code from} and {@code to}, or -1. */
  int last(String text, int from, int to) {
    budget.read(Math.max(0, to - from));
    return previous(text, from, to);
  }

  /** As {@link #first}, in a text that is charged already: for searches that each begin where the last one ended. */
  int next(String text, int from, int to) {
    if (part.length() <= SHORT) {
      return text.indexOf(part, from, to);
    }
    if (to - from < part.length()) {
      return -1;
    }
    forwards = forwards == null ? borders(false) : forwards;
    int[] borders = forwards;
    int matched = 0;
    for (int i = from; i < to; i++) {
      matched = extended(borders, matched, text.charAt(i), false);
      if (matched == part.length()) {
        return i + 1 - matched;
      }
    }
    return -1;
  }

  /** As {@link #last}, in a text that is charged already. */
  int previous(String text, int from, int to) {
    if (part.length() <= SHORT) {
      int i = text.lastIndexOf(part, to - part.length());
      return i < from ? -1 : i;
    }
    if (to - from < part.length()) {
      return -1;
    }
    backwards = backwards == null ? borders(true) : backwards;
    int[] borders = backwards;
    int matched = 0;
    for (int i = to - 1; i >= from; i--) {
      matched = extended(borders, matched, text.charAt(i), true);
      if (matched == part.length()) {
        return i;
      }
    }
    return -1;
  }

  /** The number of occurrences that do not overlap. */
  long count(String text, int from, int to) {
    budget.read(Math.max(0, to - from));
    long count = 0;
    for (int i = next(text, from, to); i >= 0; i = next(text, i + part.length(), to)) {
      count++;
    }
    return count;
  }

  /** For each beginning of the part, the length of its longest own beginning that is also its end. */
  private int[] borders(boolean reversed) {
    // Four bytes each: as much as two characters.
    budget.reserve(2L * part.length());
    int[] borders = new int[part.length()];
    int matched = 0;
    for (int i = 1; i < borders.length; i++) {
      matched = extended(borders, matched, at(i, reversed), reversed);
      borders[i] = matched;
    }
    return borders;
  }

  private int extended(int[] borders, int matched, char c, boolean reversed) {
    int length = matched;
    while (length > 0 && at(length, reversed) != c) {
      length = borders[length - 1];
    }
    return at(length, reversed) == c ? length + 1 : 0;
  }

  private char at(int i, boolean reversed) {
    return part.charAt(reversed ? part.length() - 1 - i : i);
  }
}
