package io.kvasir.prompt.template;

import org.jspecify.annotations.Nullable;

/** Numbers as the conversions print them that both kinds of format have, before sign and padding. */
final class FormattedNumbers {
  /** No float has more digits that are not zeros. */
  private static final int MAX_PRECISION = 1000;

  private FormattedNumbers() {}

  /** A number's whole part in decimal digits. */
  static String whole(RenderContext render, @Nullable Object value) {
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

  /** An integer's digits in a base. */
  static String digits(RenderContext render, @Nullable Object value, int base) {
    return Numbers.digits(render, Numbers.large(value), base);
  }

  /** A float as {@code type}, one of {@code fFeEgG}, prints it; a precision below 0 is that of Python, 6. */
  static String real(RenderContext render, char type, double d, int precision) {
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

  /** The character with this code point. */
  static String character(@Nullable Object value) {
    long point = Numbers.integer(value);
    if (point < 0 || point > Character.MAX_CODE_POINT) {
      throw error("%c arg not in range(0x110000)");
    }
    return Character.toString((int) point);
  }

  private static TemplateException.Evaluation error(String message) {
    return new TemplateException.Evaluation(message);
  }
}
