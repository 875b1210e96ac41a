package io.kvasir.prompt.template;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The filters on texts. What is not a text is printed first; safe HTML stays so. */
final class TextFilters {
  private static final Pattern WORD_START = Pattern.compile("[-\\s({\\[<]+", Pattern.UNICODE_CHARACTER_CLASS);
  private static final Pattern WORD = Pattern.compile("\\w+", Pattern.UNICODE_CHARACTER_CLASS);
  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  @FunctionalInterface
  private interface Body {
    String apply(RenderContext render, String text, Arguments arguments);
  }

  private TextFilters() {}

  static void define() {
    Filters.define("string", "", (r, v, a) -> v instanceof Markup ? v : Values.str(r, v));
    Filters.define("safe", "", (r, v, a) -> v instanceof Markup ? v : new Markup(Values.str(r, v)));
    Filters.define("escape", "", (r, v, a) ->
        v instanceof Markup ? v : new Markup(Markup.escape(r.budget(), Values.str(r, v))));
    Filters.alias("e", "escape");
    Filters.define("forceescape", "", (r, v, a) -> new Markup(Markup.escape(r.budget(), Values.str(r, v))));
    text("trim", "chars", (r, s, a) -> Text.strip(s, StringMethods.chars(r, a)));
    text("upper", "", (r, s, a) -> Text.upper(s));
    text("lower", "", (r, s, a) -> Text.lower(s));
    text("capitalize", "", (r, s, a) -> Text.capitalize(s));
    text("title", "", (r, s, a) -> title(r, s));
    text("center", "width", (r, s, a) -> Text.center(r, s, a.integer(0, 80), " "));
    text("wordwrap", "width break_long_words wrapstring break_on_hyphens", TextFilters::wrap);
    text("indent", "width first blank", TextFilters::indent);
    Filters.Filter indent = Objects.requireNonNull(Filters.find("indent"));
    Filters.raw("indent", (r, v, a) -> {
      if (Values.text(v) == null) {
        throw v instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
            "indent takes a str, not " + Values.typeName(v));
      }
      return indent.apply(r, v, a);
    });
    text("truncate", "length killwords end leeway", TextFilters::truncate);
    Filters.Filter truncate = Objects.requireNonNull(Filters.find("truncate"));
    Filters.define("truncate", "length killwords end leeway", (r, v, a) -> {
      if (Values.text(v) != null) {
        return truncate.apply(r, v, a);
      }
      if (Values.size(r, v) > a.integer(0, 255) + a.integer(3, 5)) {
        throw new TemplateException.Evaluation("truncate takes a str, not " + Values.typeName(v));
      }
      return v;
    });
    Filters.define("wordcount", "", (r, v, a) -> {
      String s = Values.str(r, v);
      r.steps(s.length() >> 3);
      long words = 0;
      for (Matcher word = WORD.matcher(s); word.find(); ) {
        words++;
      }
      return words;
    });
    Filters.define("replace", "old new count", TextFilters::replace);
    Filters.define("striptags", "", (r, v, a) -> stripTags(r, Values.str(r, v)));
    Filters.define("urlencode", "", (r, v, a) -> urlEncode(r, v));
    Filters.raw("format", (r, v, a) -> Operators.apply(r, "%", v instanceof Markup ? v : Values.str(r, v),
        a.keywords().isEmpty() ? Tuple.of(a.positional()) : a.keywords()));
  }

  private static void text(String name, String parameters, Body body) {
    Filters.define(name, parameters, (render, value, arguments) -> {
      String text = Values.str(render, value);
      render.reserve(text.length());
      String result = render.made(body.apply(render, text, arguments), text.length());
      return value instanceof Markup ? new Markup(result) : result;
    });
  }

  private static Object replace(RenderContext render, @Nullable Object value, Arguments a) {
    String old = Values.str(render, a.get(0));
    String with = Values.str(render, a.get(1));
    long limit = a.given(2) ? a.integer(2, -1) : -1;
    boolean safe = value instanceof Markup || a.get(0) instanceof Markup || a.get(1) instanceof Markup;
    if (!render.escapes() || !safe) {
      return Text.replace(render, Values.str(render, value), old, with, limit);
    }
    String escaped = a.get(1) instanceof Markup ? with : Markup.escape(render.budget(), with);
    return new Markup(Text.replace(render, Values.safe(render, value), old, escaped, limit));
  }

  private static String wrap(RenderContext render, String s, Arguments a) {
    WordWrap wrap = new WordWrap(render, a.integer(0, 79), a.flag(1, true), a.flag(3, true));
    String end = a.given(2) ? a.text(2) : "\n";
    List<String> lines = new ArrayList<>();
    for (String line : Text.lines(render, s, false)) {
      lines.add(StringMethods.join(render, end, wrap.lines(line).iterator()));
    }
    return StringMethods.join(render, end, lines.iterator());
  }

  private static String title(RenderContext render, String s) {
    render.steps(s.length() >> 3);
    StringBuilder out = new StringBuilder(s.length());
    Matcher gaps = WORD_START.matcher(s);
    int from = 0;
    while (gaps.find()) {
      titleWord(out, s.substring(from, gaps.start()));
      out.append(gaps.group());
      from = gaps.end();
    }
    titleWord(out, s.substring(from));
    return out.toString();
  }

  private static void titleWord(StringBuilder out, String word) {
    if (!word.isEmpty()) {
      int first = Character.charCount(word.codePointAt(0));
      out.append(Text.upper(word.substring(0, first))).append(Text.lower(word.substring(first)));
    }
  }

  private static String indent(RenderContext render, String s, Arguments a) {
    Object width = a.get(0, 4L);
    String text = Values.text(width);
    String unit = text != null ? text : " ".repeat(Math.clamp(Numbers.integer(width), 0, 10_000));
    render.reserve(s.length());
    List<String> lines = Text.lines(render, s + "\n", false);
    render.reserve(s.length() + (long) unit.length() * lines.size());
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (i == 0 ? a.flag(1, false) : a.flag(2, false) || !line.isEmpty()) {
        out.append(i == 0 ? "" : "\n").append(unit).append(line);
      } else {
        out.append(i == 0 ? "" : "\n").append(line);
      }
    }
    return out.toString();
  }

  private static String truncate(RenderContext render, String s, Arguments a) {
    long length = a.integer(0, 255);
    String end = a.text(2, "...");
    long leeway = a.given(3) ? a.integer(3, 5) : 5;
    long endLength = Text.length(render, end);
    if (length < endLength || leeway < 0) {
      throw new TemplateException.Evaluation("truncate expects a length of at least " + endLength);
    }
    if (Text.length(render, s) <= length + leeway) {
      return s;
    }
    String cut = s.substring(0, Text.index(render, s, length - endLength));
    if (!a.flag(1, false)) {
      int space = cut.lastIndexOf(' ');
      cut = space < 0 ? cut : cut.substring(0, space);
    }
    return cut + end;
  }

  /** Removes comments and tags, joins white space, and replaces what is escaped. */
  private static String stripTags(RenderContext render, String s) {
    render.reserve(s.length());
    render.steps(s.length() >> 3);
    StringBuilder out = new StringBuilder();
    int tagEnd = 0;
    int commentEnd = 0;
    boolean gap = false;
    for (int i = 0; i < s.length(); ) {
      char c = s.charAt(i);
      if (c == '<') {
        // Either end is looked for once, though every '<' may ask for it.
        if (commentEnd >= 0 && commentEnd < i + 4 && s.startsWith("<!--", i)) {
          commentEnd = s.indexOf("-->", i + 4);
        }
        if (tagEnd >= 0 && tagEnd <= i) {
          tagEnd = s.indexOf('>', i + 1);
        }
        boolean comment = commentEnd >= 0 && s.startsWith("<!--", i);
        if (comment || tagEnd >= 0) {
          i = comment ? commentEnd + 3 : tagEnd + 1;
          continue;
        }
      }
      i++;
      if (c == ' ' || (c >= '\t' && c <= '\r')) {
        gap = true;
      } else {
        if (gap && !out.isEmpty()) {
          out.append(' ');
        }
        gap = false;
        out.append(c);
      }
    }
    return out.toString().replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", "\"")
        .replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
  }

  private static String urlEncode(RenderContext render, @Nullable Object value) {
    if (Values.text(value) != null || !Values.isIterable(value)) {
      return quote(render, Values.str(render, value), "/");
    }
    Iterator<@Nullable Object> pairs = Values.iterate(SequenceFilters.pairs(value));
    List<String> encoded = new ArrayList<>();
    while (pairs.hasNext()) {
      List<@Nullable Object> pair = Values.list(render, pairs.next());
      if (pair.size() != 2) {
        throw new TemplateException.Evaluation("urlencode takes pairs, not " + pair.size() + " elements");
      }
      String name = quote(render, Values.str(render, pair.get(0)), "");
      String text = quote(render, Values.str(render, pair.get(1)), "");
      render.reserve(RenderBudget.ELEMENT + 2L * (name.length() + text.length()));
      encoded.add((name + "=" + text).replace("%20", "+"));
    }
    return String.join("&", encoded);
  }

  private static String quote(RenderContext render, String s, String safe) {
    // A character has up to three bytes, and each of them may need three characters.
    render.reserve(s.length());
    byte[] bytes = s.getBytes(StandardCharsets.UTF_8);
    render.reserve(3L * bytes.length);
    StringBuilder out = new StringBuilder();
    for (byte b : bytes) {
      char c = (char) (b & 0xff);
      if (c < 0x80 && (Character.isLetterOrDigit(c) || "_.-~".indexOf(c) >= 0 || safe.indexOf(c) >= 0)) {
        out.append(c);
      } else {
        out.append('%').append(HEX.toHighHexDigit(b)).append(HEX.toLowHexDigit(b));
      }
    }
    return out.toString();
  }
}
