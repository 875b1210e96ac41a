package io.kvasir.lab;

import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Whether engines stall now and then, which gives their times a long tail: a garbage collection, a compilation, a
 * neighbour on the machine. Stalls come at random, so many a minute and engine, and last as a Pareto distribution with
 * exponent 1.5 says: most are short, one in a hundred seven times the mean and more.
 *
 * @param written as reports name it
 * @param perMinute how many a minute, on average; 0 for none
 * @param meanMs how long one lasts on average, milliseconds
 */
record StallChoice(String written, double perMinute, double meanMs) {
  /** No stalls. */
  static final StallChoice OFF = new StallChoice("off", 0, 0);

  private static final double EXPONENT = 1.5;

  /** The longest: with this exponent the variance has no bound. */
  private static final double MOST_MS = 60_000;

  private static final Pattern WRITTEN = Pattern.compile("(\\d{1,4}(?:\\.\\d{1,3})?):(\\d{1,6})");

  /**
   * Reads {@code off} or {@code RATE:MS}.
   *
   * @throws IllegalArgumentException naming the forms
   */
  static StallChoice parse(String written) {
    if (written.equals("off")) {
      return OFF;
    }
    Matcher parts = WRITTEN.matcher(written);
    if (!parts.matches() || Double.parseDouble(parts.group(1)) <= 0 || Double.parseDouble(parts.group(2)) <= 0) {
      throw new IllegalArgumentException(
          "must be off, or stalls a minute and their mean in milliseconds, such as 4:500; is " + written);
    }
    return new StallChoice(written, Double.parseDouble(parts.group(1)), Double.parseDouble(parts.group(2)));
  }

  /** The time until the next stall, milliseconds. */
  double gapMs(SplittableRandom random) {
    return perMinute == 0 ? LabEngine.NEVER : Chains.exponential(random, 60_000 / perMinute);
  }

  /** How long a stall lasts, milliseconds. */
  double lengthMs(SplittableRandom random) {
    double shortest = meanMs * (EXPONENT - 1) / EXPONENT;
    return Math.min(MOST_MS, shortest * Math.pow(1 - random.nextDouble(), -1 / EXPONENT));
  }
}
