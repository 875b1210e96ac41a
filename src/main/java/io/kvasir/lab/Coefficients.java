package io.kvasir.lab;

import io.kvasir.routing.cost.CostModel;

/**
 * The router's estimates of engine speed: {@code exact} (the engines' own coefficients), {@code learnt} (the same at
 * first, then adapted to observed times to the first token), {@code off:FACTOR} (prefill costs wrong by a factor),
 * {@code learnt:FACTOR} (wrong at first, then adapted) or {@code unnamed} (the router knows no engine's name and begins
 * with the median of those it knows, the same for all; then adapted).
 *
 * @param written as reports name them
 * @param factor the factor on the coefficients, above 0
 * @param learnt whether they are adapted to observed times to the first token
 */
record Coefficients(String written, double factor, boolean learnt) {
  /** The name of every engine where the router knows none. */
  static final String UNNAMED = "unnamed";

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
      boolean plain = name.equals("exact") || name.equals(UNNAMED);
      boolean known = name.equals("learnt") || (colon < 0 ? plain : name.equals("off"));
      if (known && factor > 0 && factor <= 1e3) {
        return new Coefficients(written, factor, name.equals("learnt") || name.equals(UNNAMED));
      }
    } catch (NumberFormatException notANumber) {
      // Reported below.
    }
    throw new IllegalArgumentException(
        "must be exact, learnt, off:FACTOR, learnt:FACTOR or unnamed, with a factor above 0 and at most 1000, is "
            + written);
  }

  /** A cost model that starts with them. */
  CostModel costs() {
    CostModel exact = CostModel.bundled();
    return factor == 1 ? exact : exact.prefillScaled(factor);
  }

  /** The name that the router knows an engine by. */
  String known(String engine) {
    return written.equals(UNNAMED) ? UNNAMED : engine;
  }
}
