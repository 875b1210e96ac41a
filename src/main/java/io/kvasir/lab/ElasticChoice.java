package io.kvasir.lab;

import io.kvasir.scale.ScaleGoals;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Whether a run's fleet grows and shrinks.
 *
 * @param written as reports name it
 * @param settings null for a constant fleet
 */
record ElasticChoice(String written, @Nullable Settings settings) {
  /** A constant fleet. */
  static final ElasticChoice OFF = new ElasticChoice("off", null);

  private static final Settings USUAL = new Settings(300, 600, 0.7, 1, 0);
  private static final String FORMS =
      "off, on, or settings other than the usual ones, such as startup=180,settle=600,share=0.7,least=1,start=4"
          + " (seconds; engines)";

  /**
   * How a fleet grows and shrinks.
   *
   * @param startup seconds that an engine takes to load its model
   * @param settle seconds that fewer engines must have been enough before there are fewer
   * @param share share of an engine's time that prompts may take
   * @param least the fewest engines
   * @param start engines at the beginning, 0 for the fewest
   */
  record Settings(double startup, double settle, double share, int least, int start) {
    /** The goals of an advisor with a run's objective and most engines. */
    ScaleGoals goals(Slo slo, int most) {
      return new ScaleGoals(
          millis(slo.ttftMs()), millis(slo.tpotMs()), share, millis(startup * 1e3), millis(settle * 1e3), least, most);
    }

    private static Duration millis(double millis) {
      return Duration.ofNanos(Math.round(millis * 1e6));
    }
  }

  /**
   * Reads a choice as written: {@code off}, {@code on}, or settings by name with commas between.
   *
   * @throws IllegalArgumentException naming the forms
   */
  static ElasticChoice parse(String written) {
    return switch (written.toLowerCase(Locale.ROOT)) {
      case "off" -> OFF;
      case "on" -> new ElasticChoice(written, USUAL);
      default -> new ElasticChoice(written, settings(written));
    };
  }

  private static Settings settings(String written) {
    double startup = USUAL.startup;
    double settle = USUAL.settle;
    double share = USUAL.share;
    int least = USUAL.least;
    int start = USUAL.start;
    for (String part : written.split(",", -1)) {
      int equals = part.indexOf('=');
      double value = number(part.substring(equals + 1), written);
      switch (equals < 0 ? "" : part.substring(0, equals)) {
        case "startup" -> startup = value;
        case "settle" -> settle = value;
        case "share" -> share = value;
        case "least" -> least = (int) value;
        case "start" -> start = (int) value;
        default -> throw malformed(written);
      }
    }
    if (!(startup >= 0) || !(settle >= 0) || !(share > 0 && share <= 1) || least < 1 || start < 0) {
      throw malformed(written);
    }
    return new Settings(startup, settle, share, least, start);
  }

  private static double number(String text, String written) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException notANumber) {
      throw malformed(written);
    }
  }

  private static IllegalArgumentException malformed(String written) {
    return new IllegalArgumentException("must be " + FORMS + "; is " + written);
  }
}
