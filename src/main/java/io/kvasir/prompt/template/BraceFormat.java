package io.kvasir.prompt.template;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Python's {@code text.format(values)} and {@code text.format_map(mapping)}. */
final class BraceFormat {
  /** A field, and the fields in its specification. */
  private static final int MAX_DEPTH = 2;
  private static final String AFTER_NAME = ".[!:}";

  private final RenderContext render;
  private final Fields fields;
  private final boolean markup;

  private BraceFormat(RenderContext render, Arguments arguments, boolean markup) {
    this.render = render;
    this.fields = new Fields(arguments);
    this.markup = markup;
  }

  /** {@code format.format(arguments)}; in safe HTML ({@code markup}) what is filled in is escaped. */
  static String format(RenderContext render, String format, Arguments arguments, boolean markup) {
    return new BraceFormat(render, arguments, markup).filled(format, MAX_DEPTH);
  }

  /** {@code format.format_map(mapping)}, the mapping being the one argument. */
  static String formatMap(RenderContext render, String format, Arguments given, boolean markup) {
    if (!(given.get(0) instanceof Map<?, ?> map)) {
      throw error("format_map takes a mapping, not " + Values.typeName(given.get(0)));
    }
    render.elements(2L * map.size());
    Map<String, @Nullable Object> named = new LinkedHashMap<>();
    map.forEach((key, value) -> {
      String name = Values.text(key);
      if (name != null) {
        named.put(name, value);
      }
    });
    return format(render, format, new Arguments(new Object[0], named), markup);
  }

  /** The values of a format's fields, which are either all numbered or none. */
  private static final class Fields {
    private final Arguments arguments;
    /** The next position; -1 once a field has a number. */
    private int next;

    Fields(Arguments arguments) {
      this.arguments = arguments;
    }

    /** The value that a field starts at; {@code whole} if no attribute or index follows its name. */
    @Nullable Object value(String name, boolean whole) {
      if (name.isEmpty()) {
        requireSame(next >= 0);
        return arguments.get(next++);
      }
      if (name.length() >= 10 || !isNumber(name)) {
        return keyword(name);
      }
      if (whole) {
        requireSame(next <= 0);
        next = -1;
      }
      return arguments.get(Integer.parseInt(name));
    }

    private @Nullable Object keyword(String name) {
      if (!arguments.keywords().containsKey(name)) {
        throw error("no value for '" + name + "' in the format");
      }
      return arguments.keywords().get(name);
    }

    private static void requireSame(boolean same) {
      if (!same) {
        throw error("fields with and without a number cannot be in one format");
      }
    }
  }

  /** With fields in fields, {@code depth} deep. */
  private String filled(String format, int depth) {
    if (depth == 0) {
      throw error("fields are nested too deep");
    }
    render.reserve(format.length());
    StringBuilder out = new StringBuilder();
    FormatScanner in = new FormatScanner(format);
    while (!in.atEnd()) {
      char c = in.next();
      if ((c == '{' || c == '}') && in.skip(c)) {
        out.append(c);
      } else if (c == '}') {
        throw error("single '}' encountered in format string");
      } else if (c != '{') {
        out.append(c);
      } else {
        String text = field(in, depth);
        render.reserve(text.length());
        out.append(text);
      }
    }
    return out.toString();
  }

  /** {@code name[.attribute|[index]]...[!conversion][:specification]} and the brace that closes it. */
  private String field(FormatScanner in, int depth) {
    Object value = value(in);
    if (in.skip('!')) {
      value = in.next() == 's' ? Values.str(render, value) : Values.repr(render, value);
    }
    String specification = in.skip(':') ? specification(in, depth) : "";
    FormatSpec spec = FormatSpec.afterColon(specification);
    if (!in.skip('}')) {
      throw unclosed();
    }
    if (value != null && Numbers.is(value) && (!specification.isEmpty() || !(value instanceof Boolean))) {
      return number(spec, value);
    }
    if (spec.type() != 0 && spec.type() != 's') {
      throw error("unknown format code '" + spec.type() + "' for object of type '" + Values.typeName(value) + "'");
    }
    return text(spec, value);
  }

  private @Nullable Object value(FormatScanner in) {
    String name = in.until(AFTER_NAME);
    render.read(4L * name.length());
    Object value = fields.value(name, !in.peekIn(".["));
    while (in.peekIn(".[")) {
      boolean isIndex = in.next() == '[';
      String step = in.until(isIndex ? "]" : AFTER_NAME);
      if (isIndex) {
        in.next();
      }
      render.read(step.length());
      value = isIndex ? Values.item(render, value, index(step)) : Attributes.get(render, value, step);
    }
    return value;
  }

  private static Object index(String text) {
    return !isNumber(text) ? text : text.length() < 19 ? (Object) Long.valueOf(text) : Long.MAX_VALUE;
  }

  private static boolean isNumber(String text) {
    return !text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9');
  }

  /** What follows the colon of a field, with the values of the fields in it. */
  private String specification(FormatScanner in, int depth) {
    String text = in.untilClosingBrace();
    if (text == null) {
      throw unclosed();
    }
    return text.indexOf('{') >= 0 ? filled(text, depth - 1) : text;
  }

  private String text(FormatSpec spec, @Nullable Object value) {
    String string = Values.text(value);
    String whole = string != null ? string : Values.str(render, value);
    FormatSpec layout = spec.ofText();
    String padded = layout.padText(render, layout.cut(render, whole));
    return markup && !(value instanceof Markup) ? Markup.escape(render.budget(), padded) : padded;
  }

  private String number(FormatSpec spec, Object value) {
    if (spec.precision() >= 0 && Numbers.isInteger(value)
        && "dnxXobc".indexOf(spec.type() == 0 ? 'd' : spec.type()) >= 0) {
      throw error("precision not allowed in integer format specifier");
    }
    String digits = converted(spec.type(), value, spec.precision());
    return spec.padNumber(render, spec.signed(spec.grouped(digits)));
  }

  private String converted(char type, Object value, int precision) {
    return switch (type) {
      case 0 -> Numbers.isInteger(value) ? FormattedNumbers.whole(render, value)
          : precision < 0 ? Numbers.str(Numbers.real(value))
          : FormattedNumbers.real(render, 'g', Numbers.real(value), precision);
      case 'd', 'n' -> FormattedNumbers.digits(render, value, 10);
      case 'x' -> FormattedNumbers.digits(render, value, 16);
      case 'X' -> Text.upper(FormattedNumbers.digits(render, value, 16));
      case 'o' -> FormattedNumbers.digits(render, value, 8);
      case 'b' -> FormattedNumbers.digits(render, value, 2);
      case 'c' -> FormattedNumbers.character(value);
      case '%' -> FormattedNumbers.real(render, 'f', Numbers.real(value) * 100, precision) + "%";
      case 'f', 'F', 'e', 'E', 'g', 'G' -> FormattedNumbers.real(render, type, Numbers.real(value), precision);
      default -> throw error("unknown format code '" + type + "' for a number");
    };
  }

  private static TemplateException.Evaluation unclosed() {
    return error("expected '}' before end of string");
  }

  private static TemplateException.Evaluation error(String message) {
    return new TemplateException.Evaluation(message);
  }
}
