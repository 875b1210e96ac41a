package io.kvasir.prompt.template;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Python's int and float. A bool counts as 0 or 1. An integer is a Long where it fits one, else a BigInteger. */
final class Numbers {
  /** What printing or comparing a float by its exact digits takes: there may be a thousand. */
  static final int STEPS = 32;

  /** The most digits of an integer that Python reads or prints. */
  static final int MAX_DIGITS = 4300;

  private static final Pattern INTEGER = Pattern.compile("[0-9A-Za-z]++(_[0-9A-Za-z]++)*+");

  /** Possessive: what is no number is found out in one pass, however many digits it has. */
  private static final Pattern FLOAT =
      Pattern.compile("[+-]?([0-9]++\\.?[0-9]*+|\\.[0-9]++)([eE][+-]?[0-9]++)?");

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

  static BigInteger large(@Nullable Object value) {
    return value instanceof BigInteger big ? big : BigInteger.valueOf(integer(value));
  }

  /** An integer, as small as it can be. */
  static Number normal(BigInteger n) {
    return n.bitLength() < Long.SIZE ? (Number) n.longValue() : n;
  }

  /** Python's {@code int()} of a finite float. */
  static Number truncated(double d) {
    return Math.abs(d) < Long.MAX_VALUE ? (Number) (long) d : normal(new BigDecimal(d).toBigInteger());
  }

  /** The one number that stands for all that Python holds for the same dict's key; anything else is as it is. */
  static @Nullable Object canonical(@Nullable Object key) {
    return switch (key) {
      case Boolean b -> b ? 1L : 0L;
      case BigInteger big -> normal(big);
      case Number n when isInteger(n) -> (Object) n.longValue();
      case Number n when n.doubleValue() == Math.rint(n.doubleValue()) && !Double.isInfinite(n.doubleValue()) ->
          truncated(n.doubleValue());
      case Number n -> n.doubleValue();
      case null, default -> key;
    };
  }

  /** The forms in which a dict may have the key that a number is. */
  static List<Object> forms(Object number) {
    Object canonical = Objects.requireNonNull(canonical(number));
    List<Object> forms = new ArrayList<>(List.of(canonical));
    if (isInteger(canonical)) {
      double real = real(canonical);
      if (!Double.isInfinite(real) && canonical.equals(canonical(real))) {
        forms.add(real);
      }
      if (canonical.equals(0L)) {
        forms.add(-0.0);
        forms.add(false);
      } else if (canonical.equals(1L)) {
        forms.add(true);
      }
    }
    return forms;
  }

  static double real(@Nullable Object value) {
    return switch (value) {
      case Boolean b -> b ? 1 : 0;
      case BigInteger big -> {
        double d = big.doubleValue();
        if (Double.isInfinite(d)) {
          throw new TemplateException.Evaluation("int too large to convert to float");
        }
        yield d;
      }
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

  static TemplateException.Evaluation tooLarge() {
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

  /** Python's {@code str()} of a number. */
  static String str(RenderContext render, Number n) {
    return n instanceof BigInteger big ? digits(render, big, 10)
        : isInteger(n) ? n.toString() : str(n.doubleValue());
  }

  /** An integer's digits, which Python limits where it has to compute them. */
  static String digits(RenderContext render, BigInteger n, int radix) {
    render.read((long) n.bitLength() * (1 + (n.bitLength() >> 10)));
    String digits = radix == 10 && n.bitLength() > 4 * MAX_DIGITS ? "" : n.toString(radix);
    if (radix == 10 && (digits.isEmpty() || digits.length() > MAX_DIGITS + (n.signum() < 0 ? 1 : 0))) {
      throw new TemplateException.Evaluation("an integer has more than " + MAX_DIGITS + " digits");
    }
    return digits;
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
      return precision >= 0 ? normal(large(value))
          : normal(decimal(value).setScale(precision, RoundingMode.HALF_EVEN).toBigInteger());
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
    if (digits.length() > MAX_DIGITS || !INTEGER.matcher(digits).matches()) {
      return null;
    }
    try {
      BigInteger value = new BigInteger(digits.replace("_", ""), base);
      value = negative ? value.negate() : value;
      return normal(value);
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
    return FLOAT.matcher(digits).matches() ? Double.valueOf(digits) : null;
  }
}
