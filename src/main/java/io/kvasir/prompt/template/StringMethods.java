package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The methods of str. */
final class StringMethods {
  @FunctionalInterface
  private interface Body {
    Object call(RenderContext render, String self, Arguments arguments);
  }

  /** A method and its parameters; without a list of them it reads the arguments as they are. */
  private record Method(String name, @Nullable List<String> parameters, Body body) {
    Object call(RenderContext render, String self, Arguments arguments) {
      render.read(self.length());
      return body.call(render, self, parameters == null ? arguments : arguments.bind(name, parameters));
    }
  }

  private static final Map<String, Method> METHODS = new HashMap<>();
  static final Set<String> NAMES;

  static {
    method("strip", "chars", (r, s, a) -> strip(r, s, a, true, true));
    method("lstrip", "chars", (r, s, a) -> strip(r, s, a, true, false));
    method("rstrip", "chars", (r, s, a) -> strip(r, s, a, false, true));
    changed("lower", Text::lower);
    changed("casefold", s -> Text.lower(Text.upper(s)));
    changed("upper", Text::upper);
    changed("title", Text::title);
    changed("capitalize", Text::capitalize);
    changed("swapcase", StringMethods::swapCase);
    method("split", "sep maxsplit", (r, s, a) -> a.given(0)
        ? Text.split(r, s, separator(a), a.integer(1, -1)) : Text.splitSpace(r, s, a.integer(1, -1)));
    method("rsplit", "sep maxsplit", (r, s, a) -> a.given(0)
        ? Text.rsplit(r, s, separator(a), a.integer(1, -1)) : Text.rsplitSpace(r, s, a.integer(1, -1)));
    method("splitlines", "keepends", (r, s, a) -> Text.lines(r, s, a.flag(0, false)));
    method("partition", "sep", (r, s, a) -> partition(r, s, separator(a), false));
    method("rpartition", "sep", (r, s, a) -> partition(r, s, separator(a), true));
    method("startswith", "prefix start end", (r, s, a) -> affix(r, s, a, false));
    method("endswith", "suffix start end", (r, s, a) -> affix(r, s, a, true));
    method("find", "sub start end", (r, s, a) -> find(r, s, a, false));
    method("rfind", "sub start end", (r, s, a) -> find(r, s, a, true));
    method("index", "sub start end", (r, s, a) -> found(find(r, s, a, false)));
    method("rindex", "sub start end", (r, s, a) -> found(find(r, s, a, true)));
    method("count", "sub start end", StringMethods::count);
    method("replace", "old new count", (r, s, a) -> Text.replace(r, s, a.text(0), a.text(1), a.integer(2, -1)));
    method("removeprefix", "prefix", (r, s, a) -> {
      r.reserve(s.length());
      return s.startsWith(a.text(0)) ? s.substring(a.text(0).length()) : s;
    });
    method("removesuffix", "suffix", (r, s, a) -> {
      r.reserve(s.length());
      return s.endsWith(a.text(0)) ? s.substring(0, s.length() - a.text(0).length()) : s;
    });
    method("join", "iterable", (r, s, a) -> join(r, s, Values.iterate(a.get(0))));
    method("center", "width fillchar", (r, s, a) -> Text.center(r, s, a.integer(0, 0), fill(r, a)));
    method("ljust", "width fillchar", (r, s, a) -> Text.pad(r, s, a.integer(0, 0), fill(r, a), '<'));
    method("rjust", "width fillchar", (r, s, a) -> Text.pad(r, s, a.integer(0, 0), fill(r, a), '>'));
    method("zfill", "width", StringMethods::zfill);
    method("expandtabs", "tabsize", (r, s, a) -> expandTabs(r, s, a.integer(0, 8)));
    raw("format", (r, s, a) -> BraceFormat.format(r, s, a, false));
    method("format_map", "mapping", (r, s, a) -> BraceFormat.formatMap(r, s, a, false));
    method("encode", "encoding errors", (r, s, a) -> Bytes.encode(r, s, a.text(0, "utf-8"), a.text(1, "strict")));
    method("isalpha", "", (r, s, a) -> all(s, Character::isLetter));
    method("isdigit", "", (r, s, a) -> all(s, StringMethods::isDigit));
    method("isdecimal", "", (r, s, a) -> all(s, Character::isDigit));
    method("isnumeric", "", (r, s, a) -> all(s, StringMethods::isNumeric));
    method("isalnum", "", (r, s, a) -> all(s, c -> Character.isLetter(c) || isNumeric(c)));
    method("isspace", "", (r, s, a) -> all(s, c -> c <= 0xffff && Text.isSpace((char) c)));
    method("isascii", "", (r, s, a) -> s.chars().allMatch(c -> c < 0x80));
    method("isprintable", "", (r, s, a) -> s.codePoints().allMatch(Text::isPrintable));
    method("isidentifier", "", (r, s, a) -> !s.isEmpty() && (s.charAt(0) == '_' || Character.isLetter(s.charAt(0)))
        && all(s, c -> c == '_' || Character.isLetterOrDigit(c)));
    method("islower", "", (r, s, a) -> Text.isCase(s, false));
    method("isupper", "", (r, s, a) -> Text.isCase(s, true));
    method("istitle", "", (r, s, a) -> {
      r.reserve(s.length());
      r.steps(s.length() >> 3);
      return s.codePoints().anyMatch(Text::isCased) && s.equals(Text.title(s));
    });
    NAMES = Set.copyOf(METHODS.keySet());
  }

  private StringMethods() {}

  private static void method(String name, String parameters, Body body) {
    METHODS.put(name, new Method(name, parameters.isEmpty() ? List.of() : List.of(parameters.split(" ", -1)), body));
  }

  /** A method that changes characters one by one, or a few together. */
  private static void changed(String name, UnaryOperator<String> change) {
    method(name, "", (r, s, a) -> {
      r.reserve(s.length());
      r.steps(s.length() >> 3);
      return r.made(change.apply(s), s.length());
    });
  }

  private static void raw(String name, Body body) {
    METHODS.put(name, new Method(name, null, body));
  }

  static Object call(RenderContext render, String self, String name, Arguments arguments) {
    Method method = METHODS.get(name);
    if (method == null) {
      throw Undefined.member(self, name).refused();
    }
    return method.call(render, self, arguments);
  }

  /** On safe HTML: texts that come out are safe, so those that go in are escaped. */
  static Object callMarkup(RenderContext render, Markup self, String name, Arguments arguments) {
    Object result = switch (name) {
      case "format" -> BraceFormat.format(render, self.text(), arguments, true);
      case "format_map" -> BraceFormat.formatMap(
          render, self.text(), arguments.bind("format_map", List.of("mapping")), true);
      case "join" -> {
        List<@Nullable Object> parts = new ArrayList<>();
        for (Object part : Values.list(render, arguments.get(0))) {
          parts.add(part instanceof Markup m ? m.text() : Markup.escape(render.budget(), Values.str(render, part)));
        }
        yield join(render, self.text(), parts.iterator());
      }
      case "replace" -> {
        @Nullable Object[] given = arguments.positional().clone();
        if (given.length > 1 && given[1] instanceof String with) {
          given[1] = Markup.escape(render.budget(), with);
        }
        yield call(render, self.text(), name, new Arguments(given, arguments.keywords()));
      }
      default -> call(render, self.text(), name, arguments);
    };
    return switch (result) {
      case String s -> new Markup(s);
      case Tuple t -> Tuple.copyOf(marked(render, t));
      case Bytes b -> b;
      case List<?> l -> marked(render, l);
      default -> result;
    };
  }

  private static List<@Nullable Object> marked(RenderContext render, List<?> texts) {
    render.elements(texts.size());
    List<@Nullable Object> marked = new ArrayList<>();
    for (Object text : texts) {
      marked.add(new Markup((String) Objects.requireNonNull(text)));
    }
    return marked;
  }

  private static String strip(RenderContext render, String s, Arguments a, boolean left, boolean right) {
    render.reserve(s.length());
    return Text.strip(s, chars(render, a), left, right);
  }

  /** The characters to strip, null for white space; charges sorting them. */
  static @Nullable String chars(RenderContext render, Arguments a) {
    String chars = a.given(0) ? a.text(0) : null;
    if (chars != null) {
      render.reserve(2L * chars.length());
      render.steps(chars.length() >> 2);
    }
    return chars;
  }

  private static String separator(Arguments a) {
    String separator = a.text(0);
    if (separator.isEmpty()) {
      throw new TemplateException.Evaluation("empty separator");
    }
    return separator;
  }

  private static Object partition(RenderContext render, String s, String separator, boolean last) {
    render.reserve(s.length());
    TextSearch search = new TextSearch(render.budget(), separator);
    int i = last ? search.last(s, 0, s.length()) : search.first(s, 0, s.length());
    if (i < 0) {
      return last ? Tuple.of("", "", s) : Tuple.of(s, "", "");
    }
    return Tuple.of(s.substring(0, i), separator, s.substring(i + separator.length()));
  }

  /** The part between the arguments at 1 and 2, which count from the end if negative; null where nothing can be. */
  private static @Nullable Span span(RenderContext render, String s, Arguments a) {
    if (!a.given(1) && !a.given(2)) {
      return new Span(0, s.length());
    }
    int length = Text.length(render, s);
    long start = a.given(1) ? a.integer(1, 0) : 0;
    long stop = a.given(2) ? a.integer(2, 0) : length;
    int from = Text.index(render, s, start < 0 ? start + length : start);
    int to = Text.index(render, s, stop < 0 ? stop + length : stop);
    return from > to || start > length ? null : new Span(from, to);
  }

  private record Span(int from, int to) {}

  private static Object affix(RenderContext render, String s, Arguments a, boolean end) {
    Span span = span(render, s, a);
    if (a.get(0) instanceof Tuple affixes) {
      for (Object affix : affixes) {
        String text = Values.text(affix);
        if (span != null && text != null && hasAffix(render, s, span, text, end)) {
          return true;
        }
      }
      return false;
    }
    String text = a.text(0);
    return span != null && hasAffix(render, s, span, text, end);
  }

  private static boolean hasAffix(RenderContext render, String s, Span span, String affix, boolean end) {
    render.read(affix.length());
    return affix.length() <= span.to() - span.from()
        && s.startsWith(affix, end ? span.to() - affix.length() : span.from());
  }

  private static long find(RenderContext render, String s, Arguments a, boolean last) {
    Span span = span(render, s, a);
    TextSearch search = new TextSearch(render.budget(), a.text(0));
    if (span == null) {
      return -1;
    }
    int i = last ? search.last(s, span.from(), span.to()) : search.first(s, span.from(), span.to());
    return i < 0 ? -1 : s.codePointCount(0, i);
  }

  private static Object found(long i) {
    if (i < 0) {
      throw new TemplateException.Evaluation("substring not found");
    }
    return i;
  }

  private static Object count(RenderContext render, String s, Arguments a) {
    Span span = span(render, s, a);
    String part = a.text(0);
    if (span == null) {
      return 0L;
    }
    return part.isEmpty() ? s.codePointCount(span.from(), span.to()) + 1L
        : new TextSearch(render.budget(), part).count(s, span.from(), span.to());
  }

  static String join(RenderContext render, String separator, Iterator<? extends @Nullable Object> parts) {
    StringBuilder out = new StringBuilder();
    boolean first = true;
    while (parts.hasNext()) {
      Object part = parts.next();
      String text = Values.text(part);
      if (text == null) {
        throw part instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
            "sequence item: expected str instance, " + Values.typeName(part) + " found");
      }
      render.reserve((first ? 0L : separator.length()) + text.length());
      if (!first) {
        out.append(separator);
      }
      first = false;
      out.append(text);
    }
    return out.toString();
  }

  private static String fill(RenderContext render, Arguments a) {
    String fill = a.text(1, " ");
    if (Text.length(render, fill) != 1) {
      throw new TemplateException.Evaluation("the fill character must be exactly one character long");
    }
    return fill;
  }

  private static Object zfill(RenderContext render, String s, Arguments a) {
    String sign = s.startsWith("-") || s.startsWith("+") ? s.substring(0, 1) : "";
    render.reserve(s.length());
    return sign + Text.pad(render, s.substring(sign.length()), a.integer(0, 0) - sign.length(), "0", '>');
  }

  private static String expandTabs(RenderContext render, String s, long size) {
    render.reserve(s.length());
    StringBuilder out = new StringBuilder();
    int column = 0;
    int tab = Math.clamp(size, 0, 1000);
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '\t') {
        int blanks = tab == 0 ? 0 : tab - column % tab;
        render.reserve(blanks);
        out.repeat(' ', blanks);
        column += blanks;
      } else {
        out.append(c);
        column = c == '\n' || c == '\r' ? 0 : column + 1;
      }
    }
    return out.toString();
  }

  private static String swapCase(String s) {
    StringBuilder out = new StringBuilder();
    s.codePoints().forEach(c -> {
      if (c < 0x80) {
        out.append((char) (Character.isUpperCase(c) ? Character.toLowerCase(c) : Character.toUpperCase(c)));
      } else {
        String character = Character.toString(c);
        out.append(Character.isUpperCase(c) ? Text.lower(character) : Text.upper(character));
      }
    });
    return out.toString();
  }

  private static boolean all(String s, IntPredicate predicate) {
    return !s.isEmpty() && s.codePoints().allMatch(predicate);
  }

  private static boolean isDigit(int c) {
    return Character.isDigit(c) || "²³¹".indexOf(c) >= 0 || (c >= 0x2070 && c <= 0x2089 && c != 0x2071);
  }

  private static boolean isNumeric(int c) {
    int type = Character.getType(c);
    return type == Character.DECIMAL_DIGIT_NUMBER || type == Character.LETTER_NUMBER
        || type == Character.OTHER_NUMBER;
  }
}
