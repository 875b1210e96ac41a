package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The wrapping of one line into several, as Python's {@code textwrap} does it. */
final class WordWrap {
  private static final String BLANK = "[\\t\\n\\x0b\\f\\r ]";
  private static final String LETTER = "[^\\d\\W]";
  private static final String PUNCTUATION = "[\\w!\"'&.,?]";
  /** White space, a dash between words, or a word, which may end with the hyphen of a longer one. */
  private static final Pattern CHUNK = Pattern.compile(BLANK + "+"
      + "|(?<=" + PUNCTUATION + ")-{2,}(?=\\w)"
      + "|[^\\t\\n\\x0b\\f\\r ]+?(?:"
      + "-(?:(?<=" + LETTER + "{2}-)|(?<=" + LETTER + "-" + LETTER + "-))(?=" + LETTER + "-?" + LETTER + ")"
      + "|(?=" + BLANK + "|\\z)"
      + "|(?<=" + PUNCTUATION + ")(?=-{2,}\\w))", Pattern.UNICODE_CHARACTER_CLASS);
  private static final Pattern BLANKS = Pattern.compile(BLANK + "+");

  private final RenderContext render;
  private final long width;
  private final boolean breakWords;
  private final boolean breakHyphens;

  WordWrap(RenderContext render, long width, boolean breakWords, boolean breakHyphens) {
    if (width <= 0) {
      throw new TemplateException.Evaluation("invalid width " + width + " (must be > 0)");
    }
    this.render = render;
    this.width = width;
    this.breakWords = breakWords;
    this.breakHyphens = breakHyphens;
  }

  /** The lines of a text that is one. */
  List<String> lines(String text) {
    List<String> lines = new ArrayList<>();
    List<String> chunks = chunks(text);
    int at = 0;
    // Of the chunk at hand, what is in an earlier line already.
    int used = 0;
    while (at < chunks.size()) {
      if (used == 0 && !lines.isEmpty() && isBlank(chunks.get(at))) {
        at++;
      }
      StringBuilder line = new StringBuilder();
      int last = 0;
      long left = width;
      while (at < chunks.size() && length(chunks.get(at), used) <= left) {
        left -= length(chunks.get(at), used);
        last = line.length();
        line.append(chunks.get(at++), used, chunks.get(at - 1).length());
        used = 0;
      }
      if (at < chunks.size() && length(chunks.get(at), used) > width) {
        String word = chunks.get(at);
        if (breakWords) {
          int end = end(word, used, left);
          last = line.length();
          line.append(word, used, end);
          used = end;
        } else if (line.isEmpty()) {
          line.append(word);
          at++;
        }
      }
      if (!line.isEmpty() && isBlank(line.substring(last))) {
        line.setLength(last);
      }
      if (!line.isEmpty()) {
        render.reserve(RenderBudget.ELEMENT + line.length());
        lines.add(line.toString());
      }
    }
    return lines;
  }

  private static boolean isBlank(String chunk) {
    return Text.strip(chunk, null).isEmpty();
  }

  private int length(String chunk, int from) {
    int end = chunk.length();
    // Longer ones need not be counted to their end.
    int counted = (int) Math.min(end, from + 2L * Math.min(width, Integer.MAX_VALUE) + 2);
    render.read(counted - from);
    return chunk.codePointCount(from, counted) + end - counted;
  }

  /** Where a word ends that is broken after {@code left} characters: after a hyphen if one is there. */
  private int end(String word, int from, long left) {
    int end = from;
    for (long i = 0; i < left && end < word.length(); i++) {
      end += Character.charCount(word.codePointAt(end));
    }
    if (breakHyphens) {
      int hyphen = word.substring(from, end).lastIndexOf('-');
      if (hyphen > 0 && word.substring(from, from + hyphen).chars().anyMatch(c -> c != '-')) {
        return from + hyphen + 1;
      }
    }
    return end;
  }

  private List<String> chunks(String text) {
    render.reserve(text.length());
    int dashes = 0;
    for (int i = 0, run = 0; i < text.length(); i++) {
      run = text.charAt(i) == '-' ? run + 1 : 0;
      dashes = Math.max(dashes, run);
    }
    // The pattern looks to the end of a row of dashes at each of them.
    render.steps((long) text.length() * (1 + (dashes >> 4)));
    List<String> chunks = new ArrayList<>();
    Matcher chunk = (breakHyphens ? CHUNK : BLANKS).matcher(text);
    int from = 0;
    while (chunk.find()) {
      add(chunks, text.substring(from, chunk.start()));
      add(chunks, chunk.group());
      from = chunk.end();
    }
    add(chunks, text.substring(from));
    return chunks;
  }

  private void add(List<String> chunks, String chunk) {
    if (!chunk.isEmpty()) {
      render.element();
      chunks.add(chunk);
    }
  }
}
