package io.kvasir.app.terminal;

import java.io.PrintStream;

/**
 * One line on standard output about something that goes on: renewed in place on a terminal. Into a file or a pipe goes
 * a line only when the state changes, and a last one with the last figures. One thread at a time.
 */
public final class StatusLine implements AutoCloseable {
  private final PrintStream out;
  private final boolean terminal;
  private String state = "";
  private String shown = "";
  private String printed = "";

  /** An empty line on standard output. */
  public StatusLine() {
    this(System.out, StandardStream.OUTPUT.isTerminal());
  }

  StatusLine(PrintStream out, boolean terminal) {
    this.out = out;
    this.terminal = terminal;
  }

  /**
   * Renews the line.
   *
   * @param figures what changes all the time
   * @param state what seldom changes, and is worth a line of its own when it does
   */
  public void show(String figures, String state) {
    String line = figures + "   " + state;
    if (terminal) {
      out.print("\r" + line + " ".repeat(Math.max(0, shown.length() - line.length())));
      out.flush();
    } else if (!state.equals(this.state)) {
      print(line);
    }
    this.state = state;
    shown = line;
  }

  /** Ends the line. */
  @Override
  public void close() {
    if (terminal) {
      out.println();
    } else if (!shown.equals(printed)) {
      print(shown);
    }
  }

  private void print(String line) {
    out.println(line);
    printed = line;
  }
}
