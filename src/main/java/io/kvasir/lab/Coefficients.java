package io.kvasir.lab;

import io.kvasir.routing.cost.CostModel;

/**
 * What the router believes of engines: {@code exact} (what the engines are made of), {@code learnt} (the same to begin
 * with, then what first tokens tell), {@code off:FACTOR} (what prompts cost wrong by a factor, and it stays so) or
 * {@code learnt:FACTOR} (wrong to begin with, then what first tokens tell).
 *
 * @param factor what the coefficients are multiplied by, more than 0
 * @param learnt whether first tokens are learnt from
 */
record Coefficients(double factor, boolean learnt) {
  /**
   * Reads them as written.
   *
   * @throws IllegalArgumentException when it is none of those; says which there are
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
      // Told below.
    }
    throw new IllegalArgumentException(
        "must be exact, learnt, off:FACTOR or learnt:FACTOR, with a factor above 0 and at most 1000, is " + written);
  }

  /** A cost model that begins with them. */
  CostModel costs() {
    CostModel right = CostModel.bundled();
    return factor == 1 ? right : right.prefillScaled(factor);
  }
}
