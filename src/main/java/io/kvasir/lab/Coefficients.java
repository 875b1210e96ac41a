package io.kvasir.lab;

import io.kvasir.routing.cost.CostModel;

/**
 * The router's estimates of engine speed: {@code exact} (the engines' own coefficients), {@code learnt} (the same at
 * first, then adapted to observed times to the first token), {@code off:FACTOR} (prefill costs wrong by a factor) or
 * {@code learnt:FACTOR} (wrong at first, then adapted).
 *
 * @param factor the factor on the coefficients, above 0
 * @param learnt whether they are adapted to observed times to the first token
 */
record Coefficients(double factor, boolean learnt) {
  /**
   * Reads them as written.
   *
   * @throws IllegalArgumentException naming the forms
   */
  static Coefficients parse(String written) {
    int colon = written.indexOf(':');
    String name = colon < 0 ? written : written.substring(0, colon);
    try {
      double factor = colon < 0 ? 1 : Double.parseDouble(written.substring(colon + 1));
      boolean known = name.equals("learnt") || (colon < 0 ? name.equals("exact") : name.equals("off"));
      if (known && factor > 0 && factor <= 1e3) {
        return new Coefficients(factor, name.equals("learnt"));
      }
    } catch (NumberFormatException notANumber) {
      // Reported below.
    }
    throw new IllegalArgumentException(
        "must be exact, learnt, off:FACTOR or learnt:FACTOR, with a factor above 0 and at most 1000, is " + written);
  }

  /** A cost model that starts with them. */
  CostModel costs() {
    CostModel exact = CostModel.bundled();
    return factor == 1 ? exact : exact.prefillScaled(factor);
  }
}
