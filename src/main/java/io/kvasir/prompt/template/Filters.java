package io.kvasir.prompt.template;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The filters by name, and those for values of any type. */
final class Filters {
  /** One filter. */
  @FunctionalInterface
  interface Filter {
    @Nullable Object apply(RenderContext render, @Nullable Object value, Arguments arguments);
  }

  private static final Map<String, Filter> FILTERS = new HashMap<>();

  static {
    define("default", "default_value boolean", (r, v, a) ->
        v instanceof Undefined || (a.flag(1, false) && !Values.truth(v)) ? a.get(0, "") : v);
    alias("d", "default");
    define("tojson", "ensure_ascii indent separators sort_keys", (r, v, a) ->
        Json.dumps(r, v, a.flag(0, false), a.get(1, null), a.get(2, null), a.flag(3, false)));
    define("length", "", (r, v, a) -> (long) Values.size(r, v));
    alias("count", "length");
    define("attr", "name", (r, v, a) -> {
      r.read(a.text(0).length());
      return Rope.whole(r.budget(), v instanceof Map ? Attributes.own(v, a.text(0)) : Attributes.get(r, v, a.text(0)));
    });
    define("int", "default base", (r, v, a) -> integer(r, v, a.get(0, 0L), Math.clamp(a.integer(1, 10), 2, 36)));
    define("float", "default", (r, v, a) -> real(r, v, a.get(0, 0.0)));
    define("abs", "", (r, v, a) ->
        Numbers.is(v) && Numbers.compare(r, v, 0L) == -1 ? NumberOperators.negate(v) : number(v));
    define("round", "precision method", Filters::round);
    define("pprint", "", (r, v, a) -> PrettyPrint.format(r, v));
    define("filesizeformat", "binary", (r, v, a) -> fileSize(r, v, a.flag(0, false)));
    TextFilters.define();
    define("xmlattr", "autospace", HtmlFilters::attributes);
    define("urlize", "trim_url_limit nofollow target rel extra_schemes", HtmlFilters::links);
    SequenceFilters.define();
  }

  private Filters() {}

  /** Adds a filter with these parameter names, in this order. */
  static void define(String name, String parameters, Filter body) {
    List<String> names = parameters.isEmpty() ? List.of() : List.of(parameters.split(" ", -1));
    FILTERS.put(name, (render, value, arguments) -> body.apply(render, value, arguments.bind(name, names)));
  }

  /** Adds a filter that reads its arguments as they are. */
  static void raw(String name, Filter body) {
    FILTERS.put(name, body);
  }

  static void alias(String name, String of) {
    FILTERS.put(name, java.util.Objects.requireNonNull(FILTERS.get(of)));
  }

  static @Nullable Filter find(String name) {
    return FILTERS.get(name);
  }

  static Set<String> names() {
    return FILTERS.keySet();
  }

  static TemplateException.Evaluation unknown(String name) {
    return new TemplateException.Evaluation("there is no filter named '" + name + "'");
  }

  private static @Nullable Object number(@Nullable Object value) {
    if (!Numbers.is(value)) {
      throw value instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
          "bad operand type: '" + Values.typeName(value) + "'");
    }
    return value instanceof Boolean ? (Object) Numbers.integer(value) : value;
  }

  private static @Nullable Object integer(RenderContext render, @Nullable Object value, @Nullable Object otherwise,
      int base) {
    if (value instanceof Undefined u) {
      throw u.refused();
    }
    if (Numbers.isInteger(value)) {
      return number(value);
    }
    String text = readText(render, value);
    Number parsed = text == null ? null : Numbers.parse(text, base);
    if (parsed != null) {
      return parsed;
    }
    Double real = text != null ? Numbers.parseFloat(text) : value instanceof Number n ? (Double) n.doubleValue() : null;
    if (text == null && real != null && real.isInfinite()) {
      throw new TemplateException.Evaluation("cannot convert float infinity to integer");
    }
    return real == null || real.isNaN() || real.isInfinite() ? otherwise : Numbers.truncated(real);
  }

  /** The text to read a number from; charges copying it, matching it, and computing with its digits. */
  private static @Nullable String readText(RenderContext render, @Nullable Object value) {
    String text = Values.text(value);
    if (text != null) {
      render.reserve(3L * text.length());
      render.steps(Math.min(text.length(), Numbers.MAX_DIGITS));
    }
    return text;
  }

  private static @Nullable Object real(RenderContext render, @Nullable Object value, @Nullable Object otherwise) {
    if (Numbers.is(value) || value instanceof Undefined) {
      return Numbers.real(value);
    }
    String text = readText(render, value);
    Double parsed = text == null ? null : Numbers.parseFloat(text);
    return parsed == null ? otherwise : parsed;
  }

  private static String fileSize(RenderContext render, @Nullable Object value, boolean binary) {
    if (real(render, value, null) == null) {
      throw new TemplateException.Evaluation("could not read a number of bytes from " + Values.repr(render, value));
    }
    double bytes = Numbers.real(real(render, value, null));
    int base = binary ? 1024 : 1000;
    if (bytes == 1) {
      return "1 Byte";
    }
    if (bytes < base) {
      return Numbers.truncated(bytes) + " Bytes";
    }
    render.steps(Numbers.STEPS);
    String prefixes = binary ? "KMGTPEZY" : "kMGTPEZY";
    int unit = 0;
    double size = base;
    while (unit < prefixes.length() - 1 && bytes >= size * base) {
      size *= base;
      unit++;
    }
    return Numbers.fixed(base * bytes / (size * base), 1) + " " + prefixes.charAt(unit) + (binary ? "iB" : "B");
  }

  private static @Nullable Object round(RenderContext render, @Nullable Object value, Arguments a) {
    int precision = Math.clamp(a.integer(0, 0), -400, 400);
    render.steps(Numbers.STEPS);
    String method = a.text(1, "common");
    Object number = number(value);
    if (number == null) {
      return null;
    }
    double scale = Math.pow(10, precision);
    return switch (method) {
      case "common" -> Numbers.round(number, precision);
      case "ceil" -> Math.ceil(Numbers.real(number) * scale) / scale;
      case "floor" -> Math.floor(Numbers.real(number) * scale) / scale;
      default -> throw new TemplateException.Evaluation("round method must be common, ceil or floor");
    };
  }
}
