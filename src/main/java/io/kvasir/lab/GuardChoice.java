package io.kvasir.lab;

import io.kvasir.programs.GuardSettings;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The thrash guard of a run.
 *
 * @param written as reports name it
 * @param settings null for none
 */
record GuardChoice(String written, @Nullable GuardSettings settings) {
  /** No guard. */
  static final GuardChoice OFF = new GuardChoice("off", null);

  /** The forms of a choice, for help and faults. */
  private static final String FORMS =
      "off, on, or settings other than the usual ones, such as admit-below=0.8,pause-above=0.95,alive=90,"
          + "longest-wait=600 (seconds)";

  /**
   * Reads a choice as written: {@code off}, {@code on}, or settings by name with commas between.
   *
   * @throws IllegalArgumentException naming the forms
   */
  static GuardChoice parse(String written) {
    return switch (written.toLowerCase(Locale.ROOT)) {
      case "off" -> OFF;
      case "on" -> new GuardChoice(written, GuardSettings.DEFAULT);
      default -> new GuardChoice(written, settings(written));
    };
  }

  private static GuardSettings settings(String written) {
    GuardSettings settings = GuardSettings.DEFAULT;
    double admitBelow = settings.admitBelow();
    double pauseAbove = settings.pauseAbove();
    long aliveMs = settings.aliveMs();
    long longestWaitMs = settings.longestWaitMs();
    for (String part : written.split(",", -1)) {
      int equals = part.indexOf('=');
      double value = equals < 0 ? Double.NaN : number(part.substring(equals + 1), written);
      switch (equals < 0 ? "" : part.substring(0, equals)) {
        case "admit-below" -> admitBelow = value;
        case "pause-above" -> pauseAbove = value;
        case "alive" -> aliveMs = Math.round(value * 1e3);
        case "longest-wait" -> longestWaitMs = Math.round(value * 1e3);
        default -> throw malformed(written);
      }
    }
    return new GuardSettings(admitBelow, pauseAbove, aliveMs, longestWaitMs, settings.maxPrograms());
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
