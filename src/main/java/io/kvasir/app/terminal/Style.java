package io.kvasir.app.terminal;

/** How a piece of text is shown on a terminal. */
public enum Style {
  PLAIN,
  STRONG,
  FAINT,
  GOOD,
  WARNING,
  BAD,
  /** The least of five degrees of heat. */
  COLD,
  COOL,
  TEPID,
  WARM,
  HOT
}
