package io.kvasir.app.terminal;

/**
 * The size of a terminal.
 *
 * @param columns characters in a line, at least 1
 * @param lines at least 1
 */
public record TerminalSize(int columns, int lines) {
  /** What terminals have had since they were made of glass. */
  public static final TerminalSize CLASSIC = new TerminalSize(80, 24);
}
