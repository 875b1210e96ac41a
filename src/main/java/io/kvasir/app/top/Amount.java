package io.kvasir.app.top;

import java.util.Locale;

/** Numbers in few characters. */
final class Amount {
  private static final String UNITS = "kMGT";

  private Amount() {}

  /** At most four digits: 0.3, 42, 1234, 15k, 1.2M. Nothing for a number that is none. */
  static String of(double number) {
    if (!Double.isFinite(number)) {
      return "";
    }
    double left = Math.abs(number);
    int unit = -1;
    while (left >= (unit < 0 ? 9999.5 : 999.5) && unit < UNITS.length() - 1) {
      left /= 1000;
      unit++;
    }
    boolean whole = left >= 9.95 || left == Math.rint(left);
    return (number < 0 ? "-" : "")
        + String.format(Locale.ROOT, whole ? "%.0f" : "%.1f", left)
        + (unit < 0 ? "" : UNITS.charAt(unit));
  }
}
