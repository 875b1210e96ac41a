package io.kvasir.prompt.template;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import org.jspecify.annotations.Nullable;

/**
 * Python's int and float. A bool counts as 0 or 1. Integers that a template computes have 64 bits, and overflow is an
 * error; larger ones in a request can be printed and compared.
 */
final class Numbers {
  /** What printing or comparing a float by its exact digits takes: there may be a thousand. */
  static final int STEPS = 32;

  private Numbers() {}

  static boolean isInteger(Number n) {
    return n instanceof Long || n instanceof Integer || n instanceof BigInteger || n instanceof Short
        || n instanceof Byte;
  }

  /** Whether it is a number, bools among them. */
  static boolean is(@Nullable Object value) {
    return value instanceof Number || value instanceof Boolean;
  }

  static boolean isInteger(@Nullable Object value) {
    return value instanceof Boolean || (value instanceof Number n && isInteger(n));
  }

  static int signum(Number n) {
    return n instanceof BigInteger big ? big.signum() : Long.signum(n.longValue());
  }

  /** An int's value; anything else is refused. */
  static long integer(@Nullable Object value) {
    return switch (value) {
      case Boolean b -> b ? 1 : 0;
      case BigInteger big -> exact(big);
      case Number n when isInteger(n) -> n.longValue();
      case Undefined u -> throw u.refused();
      case null, default -> throw new TemplateException.Evaluation(
          "'" + Values.typeName(value) + "' object cannot be interpreted as an integer");
    };
  }

  static double real(@Nullable Object value) {
    return switch (value) {
      case Boolean b -> b ? 1 : 0;
      case Number n -> n.doubleValue();
      case Undefined u -> throw u.refused();
      case null, default -> throw new TemplateException.Evaluation(
          "must be real number, not " + Values.typeName(value));
    };
  }

  private static long exact(BigInteger n) {
    try {
      return n.longValueExact();
    } catch (ArithmeticException e) {
      throw tooLarge();
    }
  }

  private static TemplateException.Evaluation tooLarge() {
    return new TemplateException.Evaluation("an integer is too large to compute with");
  }

  /** -1, 0, 1, or 2 where one is not a number. */
  static int compare(RenderContext render, @Nullable Object a, @Nullable Object b) {
    if (a instanceof BigInteger || b instanceof BigInteger) {
      render.steps(STEPS);
      double x = isInteger(a) ? 0 : real(a);
      double y = isInteger(b) ? 0 : real(b);
      if (!Double.isFinite(x) || !Double.isFinite(y)) {
        return compare(x, y);
      }
      return decimal(a).compareTo(decimal(b));
    }
    if (isInteger(a) && isInteger(b)) {
      return Long.compare(integer(a), integer(b));
    }
    return compare(real(a), real(b));
  }

  private static int compare(double x, double y) {
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }

  private static BigDecimal decimal(@Nullable Object n) {
    return n instanceof BigInteger big ? new BigDecimal(big)
        : isInteger(n) ? BigDecimal.valueOf(integer(n)) : new BigDecimal(real(n));
  }

  /** {@code + - * / // % **} of two numbers; null if one is not. */
  static @Nullable Object arithmetic(String operator, @Nullable Object a, @Nullable Object b) {
    if (!is(a) || !is(b)) {
      return null;
    }
    try {
      return isInteger(a) && isInteger(b) && !operator.equals("/")
          ? integers(operator, integer(a), integer(b))
          : (Object) reals(operator, real(a), real(b));
    } catch (ArithmeticException e) {
      throw tooLarge();
    }
  }

  private static Object integers(String operator, long a, long b) {
    return switch (operator) {
      case "+" -> Math.addExact(a, b);
      case "-" -> Math.subtractExact(a, b);
      case "*" -> Math.multiplyExact(a, b);
      case "//" -> Math.floorDiv(a, nonZero(b));
      case "%" -> Math.floorMod(a, nonZero(b));
      default -> b < 0 ? (Object) reals(operator, (double) a, (double) b) : (Object) power(a, b);
    };
  }

  private static long nonZero(long b) {
    if (b == 0) {
      throw divisionByZero();
    }
    return b;
  }

  private static TemplateException.Evaluation divisionByZero() {
    return new TemplateException.Evaluation("division by zero");
  }

  private static long power(long base, long exponent) {
    if (base == 0 || base == 1) {
      return exponent == 0 ? 1 : base;
    }
    if (base == -1) {
      return exponent % 2 == 0 ? 1 : -1;
    }
    if (exponent > 64) {
      throw tooLarge();
    }
    long result = 1;
    for (long i = 0; i < exponent; i++) {
      result = Math.multiplyExact(result, base);
    }
    return result;
  }

  private static double reals(String operator, double a, double b) {
    if (b == 0 && (operator.equals("/") || operator.equals("//") || operator.equals("%"))) {
      throw divisionByZero();
    }
    return switch (operator) {
      case "+" -> a + b;
      case "-" -> a - b;
      case "*" -> a * b;
      case "/" -> a / b;
      case "//" -> Math.floor(a / b);
      case "%" -> {
        double r = a % b;
        yield r != 0 && (r < 0) != (b < 0) ? r + b : r;
      }
      default -> {
        if (a == 0 && b < 0) {
          throw new TemplateException.Evaluation("0.0 cannot be raised to a negative power");
        }
        yield Math.pow(a, b);
      }
    };
  }

  static Object negate(@Nullable Object value) {
    if (!is(value)) {
      throw value instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
          "bad operand type for unary -: '" + Values.typeName(value) + "'");
    }
    if (!isInteger(value)) {
      return -real(value);
    }
    if (integer(value) == Long.MIN_VALUE) {
      throw tooLarge();
    }
    return -integer(value);
  }

  /** Python's {@code str()} of a number. */
  static String str(RenderContext render, Number n) {
    if (n instanceof BigInteger big) {
      render.read(big.bitLength());
    }
    return isInteger(n) ? n.toString() : str(n.doubleValue());
  }

  /** The shortest digits that read back as the same float, with an exponent below 1e-4 and from 1e16. */
  static String str(double d) {
    if (Double.isNaN(d)) {
      return "nan";
    }
    if (Double.isInfinite(d)) {
      return d > 0 ? "inf" : "-inf";
    }
    if (d == 0) {
      return 1 / d < 0 ? "-0.0" : "0.0";
    }
    if (d == Math.rint(d) && Math.abs(d) < 1e15) {
      return (long) d + ".0";
    }
    BigDecimal digits = new BigDecimal(Double.toString(d)).stripTrailingZeros();
    if (digits.precision() == 2) {
      // Java never stops at one digit where two are nearer: 4.9E-324 for 5e-324.
      BigDecimal one = digits.round(new MathContext(1));
      digits = one.doubleValue() == d ? one : digits;
    }
    int exponent = digits.precision() - digits.scale() - 1;
    if (exponent >= -4 && exponent < 16) {
      String plain = digits.toPlainString();
      return plain.indexOf('.') < 0 ? plain + ".0" : plain;
    }
    String unscaled = digits.unscaledValue().abs().toString();
    return (d < 0 ? "-" : "") + unscaled.charAt(0) + (unscaled.length() > 1 ? "." + unscaled.substring(1) : "")
        + exponent(exponent);
  }

  /** {@code e+16}, {@code e-05}. */
  static String exponent(int exponent) {
    int size = Math.abs(exponent);
    return "e" + (exponent < 0 ? "-" : "+") + (size < 10 ? "0" : "") + size;
  }

  /** Python's {@code round(value, precision)}: half to even, on the float's exact value. */
  static Object round(Object value, int precision) {
    if (isInteger(value)) {
      long n = integer(value);
      return precision >= 0 ? n
          : BigDecimal.valueOf(n).setScale(precision, RoundingMode.HALF_EVEN).longValue();
    }
    double d = real(value);
    if (Double.isNaN(d) || Double.isInfinite(d)) {
      return d;
    }
    int scale = Math.clamp(precision, -400, 1100);
    double rounded = new BigDecimal(d).setScale(scale, RoundingMode.HALF_EVEN).doubleValue();
    return rounded == 0 ? Math.copySign(0, d) : rounded;
  }

  /** Python's {@code '%.{precision}f'}. */
  static String fixed(double d, int precision) {
    if (Double.isNaN(d) || Double.isInfinite(d)) {
      return str(d);
    }
    String text = new BigDecimal(d).setScale(precision, RoundingMode.HALF_EVEN).abs().toPlainString();
    return d < 0 || 1 / d < 0 ? "-" + text : text;
  }

  /** Python's {@code '%.{precision}e'}. */
  static String scientific(double d, int precision) {
    if (Double.isNaN(d) || Double.isInfinite(d)) {
      return str(d);
    }
    BigDecimal digits = new BigDecimal(d).round(new MathContext(precision + 1, RoundingMode.HALF_EVEN)).abs();
    int exponent = digits.signum() == 0 ? 0 : digits.precision() - digits.scale() - 1;
    String unscaled = digits.unscaledValue().toString();
    StringBuilder out = new StringBuilder(d < 0 || 1 / d < 0 ? "-" : "").append(unscaled.charAt(0));
    if (precision > 0) {
      out.append('.');
      for (int i = 1; i <= precision; i++) {
        out.append(i < unscaled.length() ? unscaled.charAt(i) : '0');
      }
    }
    return out.append(exponent(exponent)).toString();
  }

  /** Python's {@code '%.{precision}g'}. */
  static String general(double d, int precision) {
    if (Double.isNaN(d) || Double.isInfinite(d)) {
      return str(d);
    }
    int significant = Math.max(1, precision);
    BigDecimal digits = new BigDecimal(d).round(new MathContext(significant, RoundingMode.HALF_EVEN));
    int exponent = digits.signum() == 0 ? 0 : digits.precision() - digits.scale() - 1;
    if (exponent < -4 || exponent >= significant) {
      String text = scientific(d, significant - 1);
      int e = text.indexOf('e');
      return trimZeros(text.substring(0, e)) + text.substring(e);
    }
    return trimZeros(fixed(d, significant - 1 - exponent));
  }

  private static String trimZeros(String text) {
    if (text.indexOf('.') < 0) {
      return text;
    }
    int end = text.length();
    while (text.charAt(end - 1) == '0') {
      end--;
    }
    return text.substring(0, text.charAt(end - 1) == '.' ? end - 1 : end);
  }

  /** Python's {@code int(text, base)}, or null if it is not one. */
  static @Nullable Number parse(String text, int base) {
    String digits = Text.strip(text, null);
    boolean negative = digits.startsWith("-");
    if (negative || digits.startsWith("+")) {
      digits = digits.substring(1);
    }
    String prefix = base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
    if (!prefix.isEmpty() && digits.regionMatches(true, 0, prefix, 0, 2)) {
      digits = digits.substring(2);
    }
    // In this order: the expression's recursion is as deep as the text has underscores.
    if (digits.length() > 1000 || !digits.matches("[0-9A-Za-z]+(_[0-9A-Za-z]+)*")) {
      return null;
    }
    try {
      BigInteger value = new BigInteger(digits.replace("_", ""), base);
      value = negative ? value.negate() : value;
      return value.bitLength() < 64 ? (Number) value.longValue() : value;
    } catch (NumberFormatException e) {
      return null;
    }
  }

  /** Python's {@code float(text)}, or null if it is not one. */
  static @Nullable Double parseFloat(String text) {
    String digits = Text.strip(text, null).replace("_", "");
    String lower = Text.lower(digits);
    switch (lower) {
      case "inf", "+inf", "infinity", "+infinity" -> {
        return Double.POSITIVE_INFINITY;
      }
      case "-inf", "-infinity" -> {
        return Double.NEGATIVE_INFINITY;
      }
      case "nan", "+nan", "-nan" -> {
        return Double.NaN;
      }
      default -> {
        // Digits, or not a number.
      }
    }
    return digits.matches("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?") ? Double.valueOf(digits) : null;
  }
}
