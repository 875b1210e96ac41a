package io.kvasir.app.terminal;

import java.util.Locale;
import java.util.Map;

/** The colours that a terminal has, as escape sequences of ECMA-48. */
public enum Palette {
  /** No colours and no escape sequences at all. */
  NONE,

  /** The eight colours of every terminal. */
  BASIC,

  /** The 256 colours of xterm. */
  WIDE;

  private static final String RESET = "\u001b[0m";

  /**
   * The palette of a terminal by the environment: none where {@code NO_COLOR} is set to anything (no-color.org) or the
   * terminal is dumb.
   */
  public static Palette of(Map<String, String> environment) {
    String terminal = environment.getOrDefault("TERM", "dumb").toLowerCase(Locale.ROOT);
    if (!environment.getOrDefault("NO_COLOR", "").isEmpty() || terminal.equals("dumb")) {
      return NONE;
    }
    boolean wide = terminal.contains("256color") || !environment.getOrDefault("COLORTERM", "").isEmpty();
    return wide ? WIDE : BASIC;
  }

  /** The text in a style. */
  String paint(String text, Style style) {
    String parameters =
        switch (this) {
          case NONE -> "";
          case BASIC -> basic(style);
          case WIDE -> wide(style);
        };
    return parameters.isEmpty() ? text : "\u001b[" + parameters + "m" + text + RESET;
  }

  private static String basic(Style style) {
    return switch (style) {
      case PLAIN, COLD -> "";
      case STRONG -> "1";
      case FAINT -> "2";
      case GOOD -> "32";
      case WARNING, WARM -> "33";
      case BAD -> "1;31";
      case COOL -> "36";
      case TEPID -> "32";
      case HOT -> "1;33";
    };
  }

  private static String wide(Style style) {
    return switch (style) {
      case COLD -> "38;5;250;48;5;236";
      case COOL -> "38;5;255;48;5;23";
      case TEPID -> "38;5;255;48;5;58";
      case WARM -> "38;5;255;48;5;94";
      case HOT -> "1;38;5;16;48;5;214";
      case PLAIN, STRONG, FAINT, GOOD, WARNING, BAD -> basic(style);
    };
  }
}
