package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.IntPredicate;
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
      render.countRead(self.length());
      return body.call(render, self, parameters == null ? arguments : arguments.bind(name, parameters));
    }
  }

  private static final Map<String, Method> METHODS = new HashMap<>();
  static final Set<String> NAMES;

  static {
    method("strip", "chars", (r, s, a) -> r.checkProduced(Text.strip(s, chars(a))));
    method("lstrip", "chars", (r, s, a) -> r.checkProduced(Text.lstrip(s, chars(a))));
    method("rstrip", "chars", (r, s, a) -> r.checkProduced(Text.rstrip(s, chars(a))));
    method("lower", "", (r, s, a) -> r.checkProduced(Text.lower(s)));
    method("casefold", "", (r, s, a) -> r.checkProduced(Text.lower(Text.upper(s))));
    method("upper", "", (r, s, a) -> r.checkProduced(Text.upper(s)));
    method("title", "", (r, s, a) -> r.checkProduced(Text.title(s)));
    method("capitalize", "", (r, s, a) -> r.checkProduced(Text.capitalize(s)));
    method("swapcase", "", (r, s, a) -> r.checkProduced(swapCase(s)));
    method("split", "sep maxsplit", (r, s, a) -> pieces(r, a.given(0)
        ? Text.split(s, separator(a), a.integer(1, -1)) : Text.splitSpace(s, a.integer(1, -1))));
    method("rsplit", "sep maxsplit", (r, s, a) -> pieces(r, a.given(0)
        ? Text.rsplit(s, separator(a), a.integer(1, -1)) : Text.rsplitSpace(s, a.integer(1, -1))));
    method("splitlines", "keepends", (r, s, a) -> pieces(r, Text.lines(s, a.flag(0, false))));
    method("partition", "sep", (r, s, a) -> partition(r, s, separator(a), false));
    method("rpartition", "sep", (r, s, a) -> partition(r, s, separator(a), true));
    method("startswith", "prefix start end", (r, s, a) -> affix(s, a, false));
    method("endswith", "suffix start end", (r, s, a) -> affix(s, a, true));
    method("find", "sub start end", (r, s, a) -> find(s, a, false));
    method("rfind", "sub start end", (r, s, a) -> find(s, a, true));
    method("index", "sub start end", (r, s, a) -> found(find(s, a, false)));
    method("rindex", "sub start end", (r, s, a) -> found(find(s, a, true)));
    method("count", "sub start end", StringMethods::count);
    method("replace", "old new count", (r, s, a) -> replace(r, s, a.text(0), a.text(1), a.integer(2, -1)));
    method("removeprefix", "prefix", (r, s, a) -> s.startsWith(a.text(0)) ? s.substring(a.text(0).length()) : s);
    method("removesuffix", "suffix",
        (r, s, a) -> s.endsWith(a.text(0)) ? s.substring(0, s.length() - a.text(0).length()) : s);
    method("join", "iterable", (r, s, a) -> join(r, s, Values.iterate(a.get(0))));
    method("center", "width fillchar", (r, s, a) -> Text.center(s, width(r, a), fill(a)));
    method("ljust", "width fillchar", (r, s, a) -> Text.pad(s, width(r, a), fill(a), '<'));
    method("rjust", "width fillchar", (r, s, a) -> Text.pad(s, width(r, a), fill(a), '>'));
    method("zfill", "width", StringMethods::zfill);
    method("expandtabs", "tabsize", (r, s, a) -> expandTabs(r, s, a.integer(0, 8)));
    raw("format", (r, s, a) -> r.checkProduced(Formats.braces(r, s, a, false)));
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
    method("istitle", "", (r, s, a) -> s.codePoints().anyMatch(Text::isCased) && s.equals(Text.title(s)));
    NAMES = Set.copyOf(METHODS.keySet());
  }

  private StringMethods() {}

  private static void method(String name, String parameters, Body body) {
    METHODS.put(name, new Method(name, parameters.isEmpty() ? List.of() : List.of(parameters.split(" ", -1)), body));
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
      case "format" -> render.checkProduced(Formats.braces(render, self.text(), arguments, true));
      case "join" -> {
        List<@Nullable Object> parts = new ArrayList<>();
        for (Object part : Values.list(render, arguments.get(0))) {
          parts.add(part instanceof Markup m ? m.text() : Markup.escape(Values.str(render, part)));
        }
        yield join(render, self.text(), parts.iterator());
      }
      case "replace" -> {
        @Nullable Object[] given = arguments.positional().clone();
        if (given.length > 1 && given[1] instanceof String with) {
          given[1] = Markup.escape(with);
        }
        yield call(render, self.text(), name, new Arguments(given, arguments.keywords()));
      }
      default -> call(render, self.text(), name, arguments);
    };
    return switch (result) {
      case String s -> new Markup(s);
      case Tuple t -> Tuple.copyOf(marked(t));
      case List<?> l -> marked(l);
      default -> result;
    };
  }

  private static List<@Nullable Object> marked(List<?> texts) {
    List<@Nullable Object> marked = new ArrayList<>();
    for (Object text : texts) {
      marked.add(new Markup((String) Objects.requireNonNull(text)));
    }
    return marked;
  }

  private static @Nullable String chars(Arguments a) {
    return a.given(0) ? a.text(0) : null;
  }

  private static String separator(Arguments a) {
    String separator = a.text(0);
    if (separator.isEmpty()) {
      throw new TemplateException.Evaluation("empty separator");
    }
    return separator;
  }

  private static Object pieces(RenderContext render, List<String> pieces) {
    long length = 0;
    for (String piece : pieces) {
      length += 8 + piece.length();
    }
    render.reserve(length);
    return pieces;
  }

  private static Object partition(RenderContext render, String s, String separator, boolean last) {
    render.reserve(s.length());
    int i = last ? s.lastIndexOf(separator) : s.indexOf(separator);
    if (i < 0) {
      return last ? Tuple.of("", "", s) : Tuple.of(s, "", "");
    }
    return Tuple.of(s.substring(0, i), separator, s.substring(i + separator.length()));
  }

  /** The part between the arguments at 1 and 2, which count from the end if negative. */
  private static int[] span(String s, Arguments a) {
    int length = Text.length(s);
    long start = a.given(1) ? a.integer(1, 0) : 0;
    long stop = a.given(2) ? a.integer(2, 0) : length;
    int from = Text.index(s, start < 0 ? start + length : start);
    int to = Text.index(s, stop < 0 ? stop + length : stop);
    return new int[] {from, to, start > length ? -1 : 0};
  }

  private static Object affix(String s, Arguments a, boolean end) {
    int[] span = span(s, a);
    if (span[0] > span[1] || span[2] < 0) {
      return false;
    }
    String part = s.substring(span[0], span[1]);
    if (a.get(0) instanceof Tuple affixes) {
      for (Object affix : affixes) {
        String text = Values.text(affix);
        if (text != null && (end ? part.endsWith(text) : part.startsWith(text))) {
          return true;
        }
      }
      return false;
    }
    return end ? part.endsWith(a.text(0)) : part.startsWith(a.text(0));
  }

  private static long find(String s, Arguments a, boolean last) {
    int[] span = span(s, a);
    String part = a.text(0);
    if (span[0] > span[1] || span[2] < 0) {
      return -1;
    }
    int i = last ? s.lastIndexOf(part, span[1] - part.length()) : s.indexOf(part, span[0], span[1]);
    return i < span[0] ? -1 : s.codePointCount(0, i);
  }

  private static Object found(long i) {
    if (i < 0) {
      throw new TemplateException.Evaluation("substring not found");
    }
    return i;
  }

  private static Object count(RenderContext render, String s, Arguments a) {
    int[] span = span(s, a);
    if (span[0] > span[1] || span[2] < 0) {
      return 0L;
    }
    return occurrences(s.substring(span[0], span[1]), a.text(0));
  }

  private static long occurrences(String s, String part) {
    if (part.isEmpty()) {
      return Text.length(s) + 1L;
    }
    long count = 0;
    for (int i = s.indexOf(part); i >= 0; i = s.indexOf(part, i + part.length())) {
      count++;
    }
    return count;
  }

  static String replace(RenderContext render, String s, String old, String with, long count) {
    long most = with.length() <= old.length() ? 0 : Text.length(s) / Math.max(1L, old.length()) + 1;
    if (most * with.length() > 1 << 16) {
      // Worth counting before memory is taken.
      most = occurrences(s, old);
      render.check(s.length() + (count < 0 ? most : Math.min(most, count)) * (with.length() - old.length()));
    }
    return render.checkProduced(Text.replace(s, old, with, count));
  }

  static String join(RenderContext render, String separator, Iterator<@Nullable Object> parts) {
    StringBuilder out = new StringBuilder();
    boolean first = true;
    while (parts.hasNext()) {
      Object part = parts.next();
      String text = Values.text(part);
      if (text == null) {
        throw part instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
            "sequence item: expected str instance, " + Values.typeName(part) + " found");
      }
      render.step();
      if (!first) {
        out.append(separator);
      }
      first = false;
      out.append(text);
      render.check(out.length());
    }
    return render.checkProduced(out.toString());
  }

  private static long width(RenderContext render, Arguments a) {
    long width = a.integer(0, 0);
    render.reserve(Math.max(0, width));
    return width;
  }

  private static String fill(Arguments a) {
    String fill = a.text(1, " ");
    if (Text.length(fill) != 1) {
      throw new TemplateException.Evaluation("the fill character must be exactly one character long");
    }
    return fill;
  }

  private static Object zfill(RenderContext render, String s, Arguments a) {
    String sign = s.startsWith("-") || s.startsWith("+") ? s.substring(0, 1) : "";
    return sign + Text.pad(s.substring(sign.length()), width(render, a) - sign.length(), "0", '>');
  }

  private static String expandTabs(RenderContext render, String s, long size) {
    StringBuilder out = new StringBuilder();
    int column = 0;
    int tab = Math.clamp(size, 0, 1000);
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '\t') {
        int blanks = tab == 0 ? 0 : tab - column % tab;
        out.repeat(' ', blanks);
        column += blanks;
        render.check(out.length());
      } else {
        out.append(c);
        column = c == '\n' || c == '\r' ? 0 : column + 1;
      }
    }
    return render.checkProduced(out.toString());
  }

  private static String swapCase(String s) {
    StringBuilder out = new StringBuilder();
    s.codePoints().forEach(c -> {
      String character = Character.toString(c);
      out.append(Character.isUpperCase(c) ? Text.lower(character) : Text.upper(character));
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
