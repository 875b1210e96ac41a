package io.kvasir.prompt.template;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import org.jspecify.annotations.Nullable;

/** Python's arithmetic: integers of any size up to {@link #MAX_BITS} bits, and floats. */
final class NumberOperators {
  /** The largest integers that a template computes with: Python prints none of more than 4300 digits, 14,284 bits. */
  private static final int MAX_BITS = 1 << 16;

  private NumberOperators() {}

  /** {@code + - * / // % **} of two numbers; null if one is not. */
  static @Nullable Object of(RenderContext render, String operator, @Nullable Object a, @Nullable Object b) {
    if (!Numbers.is(a) || !Numbers.is(b)) {
      return null;
    }
    if (!Numbers.isInteger(a) || !Numbers.isInteger(b)) {
      return reals(operator, Numbers.real(a), Numbers.real(b));
    }
    if (operator.equals("/")) {
      return quotient(render, a, b);
    }
    if (!(a instanceof BigInteger) && !(b instanceof BigInteger)) {
      try {
        return integers(operator, Numbers.integer(a), Numbers.integer(b));
      } catch (ArithmeticException e) {
        // More than 64 bits.
      }
    }
    return ofLarge(render, operator, Numbers.large(a), Numbers.large(b));
  }

  private static Object integers(String operator, long a, long b) {
    return switch (operator) {
      case "+" -> Math.addExact(a, b);
      case "-" -> Math.subtractExact(a, b);
      case "*" -> Math.multiplyExact(a, b);
      // Only this quotient has more bits than its operands.
      case "//" -> b == -1 ? Math.negateExact(a) : Math.floorDiv(a, nonZero(b));
      case "%" -> Math.floorMod(a, nonZero(b));
      default -> b < 0 ? (Object) reals(operator, (double) a, (double) b) : (Object) power(a, b);
    };
  }

  private static Object ofLarge(RenderContext render, String operator, BigInteger a, BigInteger b) {
    boolean power = operator.equals("**");
    if (power && b.signum() < 0) {
      return reals(operator, Numbers.real(a), Numbers.real(b));
    }
    long bits = !power ? (long) a.bitLength() + b.bitLength()
        : b.bitLength() > Integer.SIZE - 1 ? Long.MAX_VALUE : a.bitLength() * b.longValue();
    if (bits > MAX_BITS) {
      throw Numbers.tooLarge();
    }
    render.reserve(bits >> 4);
    // The product of all pairs of 32-bit digits, some sixteen in a step.
    render.steps((bits * bits) >> 14);
    return Numbers.normal(switch (operator) {
      case "+" -> a.add(b);
      case "-" -> a.subtract(b);
      case "*" -> a.multiply(b);
      case "//" -> {
        BigInteger[] both = a.divideAndRemainder(nonZero(b));
        yield both[1].signum() * b.signum() < 0 ? both[0].subtract(BigInteger.ONE) : both[0];
      }
      case "%" -> {
        BigInteger rest = a.remainder(nonZero(b));
        yield rest.signum() * b.signum() < 0 ? rest.add(b) : rest;
      }
      default -> a.pow(b.intValue());
    });
  }

  /** {@code a / b}, rounded once. */
  private static double quotient(RenderContext render, @Nullable Object a, @Nullable Object b) {
    BigInteger x = Numbers.large(a);
    BigInteger y = nonZero(Numbers.large(b));
    if (x.abs().bitLength() <= 53 && y.abs().bitLength() <= 53) {
      return x.doubleValue() / y.doubleValue();
    }
    render.steps(Numbers.STEPS + (((long) x.bitLength() * y.bitLength()) >> 10));
    double d = new BigDecimal(x).divide(new BigDecimal(y), new MathContext(60)).doubleValue();
    if (Double.isInfinite(d)) {
      throw new TemplateException.Evaluation("integer division result too large for a float");
    }
    return d;
  }

  private static BigInteger nonZero(BigInteger b) {
    if (b.signum() == 0) {
      throw divisionByZero();
    }
    return b;
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
      throw new ArithmeticException();
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
      case "//" -> floored(a, b);
      case "%" -> modulo(a, b);
      default -> {
        if (a == 0 && b < 0) {
          throw new TemplateException.Evaluation("0.0 cannot be raised to a negative power");
        }
        yield Math.pow(a, b);
      }
    };
  }

  private static double modulo(double a, double b) {
    double r = a % b;
    return r == 0 ? Math.copySign(0, b) : (r < 0) != (b < 0) ? r + b : r;
  }

  /** As C Python does it: from the remainder, which is exact. */
  private static double floored(double a, double b) {
    double r = a % b;
    double quotient = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) {
      quotient -= 1;
    }
    if (quotient == 0) {
      return Math.copySign(0, a / b);
    }
    double floor = Math.floor(quotient);
    return quotient - floor > 0.5 ? floor + 1 : floor;
  }

  static Object negate(@Nullable Object value) {
    if (!Numbers.is(value)) {
      throw value instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
          "bad operand type for unary -: '" + Values.typeName(value) + "'");
    }
    if (!Numbers.isInteger(value)) {
      return -Numbers.real(value);
    }
    if (value instanceof BigInteger || Numbers.integer(value) == Long.MIN_VALUE) {
      return Numbers.normal(Numbers.large(value).negate());
    }
    return -Numbers.integer(value);
  }
}
