package io.kvasir.prompt.template;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Python's two string formatting operations: {@code text % values} and {@code text.format(values)}. */
final class Formats {
  /** No float has more digits that are not zeros. */
  private static final int MAX_PRECISION = 1000;

  private final RenderContext render;
  private final String format;
  private final boolean markup;
  private final StringBuilder out = new StringBuilder();
  private int at;

  private Formats(RenderContext render, String format, boolean markup) {
    this.render = render;
    this.format = format;
    this.markup = markup;
  }

  /** {@code format % values}; in safe HTML ({@code markup}) what is filled in is escaped. */
  static String percent(RenderContext render, String format, @Nullable Object values, boolean markup) {
    return new Formats(render, format, markup).percent(values);
  }

  /** {@code format.format(arguments)}. */
  static String braces(RenderContext render, String format, Arguments arguments, boolean markup) {
    return new Formats(render, format, markup).braces(new Fields(arguments), 2);
  }

  /** The arguments of {@code format.format_map(mapping)}. */
  static Arguments mapping(RenderContext render, Arguments given) {
    if (!(given.get(0) instanceof Map<?, ?> map)) {
      throw error("format_map takes a mapping, not " + Values.typeName(given.get(0)));
    }
    render.elements(2L * map.size());
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    map.forEach((key, value) -> {
      String name = Values.text(key);
      if (name != null) {
        fields.put(name, value);
      }
    });
    return new Arguments(new Object[0], fields);
  }

  /** The values of a format's fields, which are either all numbered or none. */
  private static final class Fields {
    private final Arguments arguments;
    /** The next position; -1 once a field has a number. */
    private int next;

    Fields(Arguments arguments) {
      this.arguments = arguments;
    }

    @Nullable Object value(String name, boolean whole) {
      int number = index(name);
      if (name.isEmpty()) {
        requireSame(next >= 0);
        return arguments.get(next++);
      }
      if (number < 0) {
        return keyword(arguments, name);
      }
      if (whole) {
        requireSame(next <= 0);
        next = -1;
      }
      return arguments.get(number);
    }

    private static void requireSame(boolean same) {
      if (!same) {
        throw error("fields with and without a number cannot be in one format");
      }
    }
  }

  private static TemplateException.Evaluation error(String message) {
    return new TemplateException.Evaluation(message);
  }

  private String percent(@Nullable Object values) {
    List<?> positional = values instanceof Tuple tuple ? tuple : java.util.Collections.singletonList(values);
    int used = 0;
    render.reserve(format.length());
    while (at < format.length()) {
      char c = format.charAt(at++);
      if (c != '%') {
        out.append(c);
        continue;
      }
      Object named = null;
      boolean byName = false;
      if (peek() == '(') {
        int close = format.indexOf(')', at);
        if (close < 0 || !(values instanceof Map<?, ?> map)) {
          throw error(close < 0 ? "incomplete format key" : "format requires a mapping");
        }
        String key = format.substring(at + 1, close);
        render.read(4L * key.length());
        if (!map.containsKey(key)) {
          throw error("no value for '" + key + "' in the format");
        }
        named = map.get(key);
        byName = true;
        at = close + 1;
      }
      Spec spec = new Spec();
      while ("-+ #0".indexOf(peek()) >= 0 && peek() != 0) {
        spec.flag(format.charAt(at++));
      }
      spec.width = number();
      if (peek() == '.') {
        at++;
        spec.precision = Math.max(0, number());
      }
      char type = peek();
      at++;
      if (type == '%') {
        out.append('%');
        continue;
      }
      if (!byName && used >= positional.size()) {
        throw error("not enough arguments for format string");
      }
      Object value = byName ? named : positional.get(used++);
      spec.align = spec.align == 0 ? '>' : spec.align;
      append(spec.pad(render, converted(spec, type, value), type == 's' || type == 'r' || type == 'c'));
    }
    boolean lenient = values instanceof Map || values instanceof Undefined
        || (values instanceof List && !(values instanceof Tuple));
    if (used < positional.size() && !lenient) {
      throw error("not all arguments converted during string formatting");
    }
    return out.toString();
  }

  private void append(String text) {
    render.reserve(text.length());
    out.append(text);
  }

  private String converted(Spec spec, char type, @Nullable Object value) {
    return switch (type) {
      case 's', 'r', 'a' -> {
        String text = type == 's' ? Values.str(render, value) : Values.repr(render, value);
        text = markup && !(value instanceof Markup) ? Markup.escape(render.budget(), text) : text;
        yield spec.cut(render, text);
      }
      case 'd', 'i', 'u' -> spec.signed(integral(render, value));
      case 'x' -> spec.signed(Numbers.digits(render, Numbers.large(value), 16));
      case 'X' -> spec.signed(Text.upper(Numbers.digits(render, Numbers.large(value), 16)));
      case 'o' -> spec.signed(Numbers.digits(render, Numbers.large(value), 8));
      case 'c' -> value instanceof String s ? single(s) : character(value);
      case 'f', 'F', 'e', 'E', 'g', 'G' -> spec.signed(real(render, type, Numbers.real(value), spec.precision));
      default -> throw error("unsupported format character '" + type + "'");
    };
  }

  private static String single(String text) {
    if (text.isEmpty() || text.length() != Character.charCount(text.codePointAt(0))) {
      throw error("%c requires int or char");
    }
    return text;
  }

  private static String character(@Nullable Object value) {
    long point = Numbers.integer(value);
    if (point < 0 || point > Character.MAX_CODE_POINT) {
      throw error("%c arg not in range(0x110000)");
    }
    return Character.toString((int) point);
  }

  private static String integral(RenderContext render, @Nullable Object value) {
    if (!Numbers.is(value)) {
      throw error("%d format: a real number is required, not " + Values.typeName(value));
    }
    if (!Numbers.isInteger(value)) {
      double d = Numbers.real(value);
      if (Double.isNaN(d) || Double.isInfinite(d)) {
        throw error("cannot convert float " + Numbers.str(d) + " to integer");
      }
      return Numbers.str(render, Numbers.truncated(d));
    }
    return value instanceof Number n ? Numbers.str(render, n) : Long.toString(Numbers.integer(value));
  }

  private static String real(RenderContext render, char type, double d, int precision) {
    int digits = precision < 0 ? 6 : Math.min(precision, MAX_PRECISION);
    render.steps(Numbers.STEPS + digits);
    return switch (type) {
      case 'f', 'F' -> Numbers.fixed(d, digits);
      case 'e' -> Numbers.scientific(d, digits);
      case 'E' -> Text.upper(Numbers.scientific(d, digits));
      case 'g' -> Numbers.general(d, digits);
      default -> Text.upper(Numbers.general(d, digits));
    };
  }

  private char peek() {
    return at < format.length() ? format.charAt(at) : 0;
  }

  private int number() {
    int start = at;
    int value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = Math.min(100_000_000, value * 10 + format.charAt(at++) - '0');
    }
    return at == start ? -1 : value;
  }

  /** With fields in fields, {@code depth} deep. */
  private String braces(Fields fields, int depth) {
    if (depth == 0) {
      throw error("fields are nested too deep");
    }
    render.reserve(format.length());
    while (at < format.length()) {
      char c = format.charAt(at++);
      if ((c == '{' || c == '}') && peek() == c) {
        at++;
        out.append(c);
      } else if (c == '}') {
        throw error("single '}' encountered in format string");
      } else if (c != '{') {
        out.append(c);
      } else {
        int start = at;
        while (peek() != 0 && ".[!:}".indexOf(peek()) < 0) {
          at++;
        }
        String name = format.substring(start, at);
        render.read(4L * name.length());
        append(field(path(fields.value(name, peek() != '.' && peek() != '[')), fields, depth));
      }
    }
    return out.toString();
  }

  /** The number that a field or an index is, or -1. */
  private static int index(String field) {
    boolean digits = !field.isEmpty() && field.length() < 10 && field.chars().allMatch(c -> c >= '0' && c <= '9');
    return digits ? Integer.parseInt(field) : -1;
  }

  private static @Nullable Object keyword(Arguments arguments, String name) {
    if (!arguments.keywords().containsKey(name)) {
      throw error("no value for '" + name + "' in the format");
    }
    return arguments.keywords().get(name);
  }

  /** {@code .name} and {@code [index]} after a field's name. */
  private @Nullable Object path(@Nullable Object start) {
    Object value = start;
    while (peek() == '.' || peek() == '[') {
      boolean index = format.charAt(at++) == '[';
      int from = at;
      while (peek() != 0 && (index ? peek() != ']' : ".[!:}".indexOf(peek()) < 0)) {
        at++;
      }
      String name = format.substring(from, at);
      at += index ? 1 : 0;
      render.read(name.length());
      value = !index ? Attributes.get(render, value, name) : Values.item(render, value, key(name));
    }
    return value;
  }

  private static Object key(String name) {
    boolean number = !name.isEmpty() && name.chars().allMatch(c -> c >= '0' && c <= '9');
    return !number ? name : name.length() < 19 ? (Object) Long.valueOf(name) : Long.MAX_VALUE;
  }

  /** What follows the colon of a field, with the values of the fields in it. */
  private Formats specification(Fields fields, int depth) {
    int from = at;
    for (int open = 0; open > 0 || peek() != '}'; at++) {
      if (at >= format.length()) {
        throw error("expected '}' before end of string");
      }
      open += peek() == '{' ? 1 : peek() == '}' ? -1 : 0;
    }
    String text = format.substring(from, at);
    boolean nested = text.indexOf('{') >= 0;
    return new Formats(
        render, nested ? new Formats(render, text, markup).braces(fields, depth - 1) : text, false);
  }

  private String field(@Nullable Object given, Fields fields, int depth) {
    Object value = given;
    if (peek() == '!') {
      at++;
      char conversion = peek();
      at++;
      value = conversion == 's' ? Values.str(render, value) : Values.repr(render, value);
    }
    Spec spec = new Spec();
    char type = 0;
    boolean specified = false;
    if (peek() == ':') {
      at++;
      Formats specification = specification(fields, depth);
      specified = !specification.format.isEmpty();
      type = specification.spec(spec);
      if (specification.at < specification.format.length()) {
        throw error("invalid format specifier");
      }
    }
    if (peek() != '}') {
      throw error("expected '}' before end of string");
    }
    at++;
    String text = Values.text(value);
    boolean numeric = Numbers.is(value) && (specified || !(value instanceof Boolean));
    if (!numeric && type != 0 && type != 's') {
      throw error("unknown format code '" + type + "' for object of type '" + Values.typeName(value) + "'");
    }
    if (numeric && value != null) {
      if (spec.precision >= 0 && Numbers.isInteger(value) && "dnxXobc".indexOf(type == 0 ? 'd' : type) >= 0) {
        throw error("precision not allowed in integer format specifier");
      }
      return spec.pad(render, spec.signed(spec.grouped(number(render, type, value, spec.precision))), false);
    }
    String plain = text != null ? text : Values.str(render, value);
    spec.alignText();
    plain = spec.pad(render, spec.cut(render, plain), true);
    return markup && !(value instanceof Markup) ? Markup.escape(render.budget(), plain) : plain;
  }

  private static String number(RenderContext render, char type, Object value, int precision) {
    return switch (type) {
      case 0 -> Numbers.isInteger(value) ? integral(render, value)
          : precision < 0 ? Numbers.str(Numbers.real(value)) : real(render, 'g', Numbers.real(value), precision);
      case 'd', 'n' -> Numbers.digits(render, Numbers.large(value), 10);
      case 'x' -> Numbers.digits(render, Numbers.large(value), 16);
      case 'X' -> Text.upper(Numbers.digits(render, Numbers.large(value), 16));
      case 'o' -> Numbers.digits(render, Numbers.large(value), 8);
      case 'b' -> Numbers.digits(render, Numbers.large(value), 2);
      case 'c' -> character(value);
      case '%' -> real(render, 'f', Numbers.real(value) * 100, precision) + "%";
      case 'f', 'F', 'e', 'E', 'g', 'G' -> real(render, type, Numbers.real(value), precision);
      default -> throw error("unknown format code '" + type + "' for a number");
    };
  }

  /** {@code [[fill]align][sign][#][0][width][,][.precision][type]}; returns the type, or 0. */
  private char spec(Spec spec) {
    if (at + 1 < format.length() && "<>^=".indexOf(format.charAt(at + 1)) >= 0) {
      spec.fill = format.charAt(at);
      spec.align = format.charAt(at + 1);
      at += 2;
    } else if (peek() != 0 && "<>^=".indexOf(peek()) >= 0) {
      spec.align = format.charAt(at++);
    }
    while (peek() != 0 && "+- #0".indexOf(peek()) >= 0) {
      char flag = format.charAt(at++);
      if (flag == '0' && spec.align == 0) {
        spec.fill = '0';
        spec.align = '=';
        spec.zeros = true;
      } else if (flag == '+' || flag == ' ') {
        spec.sign = flag;
      }
    }
    spec.width = number();
    if (peek() == ',' || peek() == '_') {
      spec.group = format.charAt(at++);
    }
    if (peek() == '.') {
      at++;
      spec.precision = Math.max(0, number());
    }
    if (peek() == '}' || peek() == 0) {
      return 0;
    }
    return format.charAt(at++);
  }

  /** A format specification. */
  private static final class Spec {
    private char fill = ' ';
    private char align;
    private char sign;
    private char group;
    private boolean zeros;
    private int width = -1;
    private int precision = -1;

    void flag(char flag) {
      switch (flag) {
        case '-' -> {
          align = '<';
          fill = ' ';
        }
        case '0' -> {
          if (align != '<') {
            align = '=';
            fill = '0';
          }
        }
        case '+' -> sign = '+';
        case ' ' -> sign = sign == '+' ? '+' : ' ';
        default -> {
          // The alternate form is not supported.
        }
      }
    }

    /** In a text there is no sign for zeros to follow. */
    void alignText() {
      if (align == '=' && !zeros) {
        throw error("'=' alignment not allowed in string format specifier");
      }
      align = align == '=' ? '<' : align;
    }

    String signed(String digits) {
      return sign == 0 || digits.startsWith("-") ? digits : sign + digits;
    }

    String grouped(String digits) {
      if (group == 0) {
        return digits;
      }
      int start = digits.startsWith("-") ? 1 : 0;
      int end = start;
      while (end < digits.length() && Character.isDigit(digits.charAt(end))) {
        end++;
      }
      StringBuilder out = new StringBuilder(digits);
      for (int i = end - 3; i > start; i -= 3) {
        out.insert(i, group);
      }
      return out.toString();
    }

    /** The text's first characters, as many as the precision says. */
    String cut(RenderContext render, String text) {
      if (precision < 0) {
        return text;
      }
      int end = Text.index(render, text, precision);
      render.reserve(end);
      return text.substring(0, end);
    }

    String pad(RenderContext render, String text, boolean isText) {
      if (width < 0) {
        return text;
      }
      char how = align != 0 ? align : isText ? '<' : '>';
      String filler = String.valueOf(fill);
      if (how != '=') {
        return Text.pad(render, text, width, filler, how);
      }
      if (isText) {
        return Text.pad(render, text, width, " ", '>');
      }
      int prefix = text.startsWith("-") || text.startsWith("+") || text.startsWith(" ") ? 1 : 0;
      return text.substring(0, prefix) + Text.pad(render, text.substring(prefix), width - prefix, filler, '>');
    }
  }
}
