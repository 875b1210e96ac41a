package io.kvasir.prompt.template;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Python's {@code text % values}. */
final class PercentFormat {
  private final RenderContext render;
  private final @Nullable Object values;
  private final List<?> positional;
  private final boolean markup;
  private int used;

  private PercentFormat(RenderContext render, @Nullable Object values, boolean markup) {
    this.render = render;
    this.values = values;
    this.positional = values instanceof Tuple tuple ? tuple : Collections.singletonList(values);
    this.markup = markup;
  }

  /** {@code format % values}; in safe HTML ({@code markup}) what is filled in is escaped. */
  static String format(RenderContext render, String format, @Nullable Object values, boolean markup) {
    return new PercentFormat(render, values, markup).filled(format);
  }

  private String filled(String format) {
    render.reserve(format.length());
    StringBuilder out = new StringBuilder();
    FormatScanner in = new FormatScanner(format);
    while (!in.atEnd()) {
      char c = in.next();
      if (c != '%') {
        out.append(c);
        continue;
      }
      boolean byName = in.skip('(');
      Object named = byName ? named(in) : null;
      FormatSpec spec = FormatSpec.afterPercent(in);
      if (spec.type() == '%') {
        out.append('%');
        continue;
      }
      String text = converted(spec, byName ? named : nextPositional());
      String padded = switch (spec.type()) {
        case 's', 'r', 'c' -> spec.padText(render, text);
        default -> spec.padNumber(render, text);
      };
      render.reserve(padded.length());
      out.append(padded);
    }
    requireAllUsed();
    return out.toString();
  }

  /** The value whose key comes next. */
  private @Nullable Object named(FormatScanner in) {
    String key = in.past(')');
    if (key == null || !(values instanceof Map<?, ?> map)) {
      throw error(key == null ? "incomplete format key" : "format requires a mapping");
    }
    render.read(4L * key.length());
    if (!map.containsKey(key)) {
      throw error("no value for '" + key + "' in the format");
    }
    return map.get(key);
  }

  private @Nullable Object nextPositional() {
    if (used >= positional.size()) {
      throw error("not enough arguments for format string");
    }
    return positional.get(used++);
  }

  private void requireAllUsed() {
    boolean lenient = values instanceof Map || values instanceof Undefined
        || (values instanceof List && !(values instanceof Tuple));
    if (used < positional.size() && !lenient) {
      throw error("not all arguments converted during string formatting");
    }
  }

  private String converted(FormatSpec spec, @Nullable Object value) {
    return switch (spec.type()) {
      case 's' -> text(spec, value, Values.str(render, value));
      case 'r', 'a' -> text(spec, value, Values.repr(render, value));
      case 'c' -> value instanceof String s ? single(s) : FormattedNumbers.character(value);
      default -> spec.signed(number(spec, value));
    };
  }

  private String text(FormatSpec spec, @Nullable Object value, String text) {
    return spec.cut(render, markup && !(value instanceof Markup) ? Markup.escape(render.budget(), text) : text);
  }

  private String number(FormatSpec spec, @Nullable Object value) {
    char type = spec.type();
    return switch (type) {
      case 'd', 'i', 'u' -> FormattedNumbers.whole(render, value);
      case 'x' -> FormattedNumbers.digits(render, value, 16);
      case 'X' -> Text.upper(FormattedNumbers.digits(render, value, 16));
      case 'o' -> FormattedNumbers.digits(render, value, 8);
      case 'f', 'F', 'e', 'E', 'g', 'G' ->
          FormattedNumbers.real(render, type, Numbers.real(value), spec.precision());
      default -> throw error("unsupported format character '" + type + "'");
    };
  }

  private static String single(String text) {
    if (text.isEmpty() || text.length() != Character.charCount(text.codePointAt(0))) {
      throw error("%c requires int or char");
    }
    return text;
  }

  private static TemplateException.Evaluation error(String message) {
    return new TemplateException.Evaluation(message);
  }
}
