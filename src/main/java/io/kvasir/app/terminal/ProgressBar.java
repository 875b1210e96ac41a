package io.kvasir.app.terminal;

import java.io.Console;
import java.util.Optional;

/** Progress of a long command, on standard error: a bar on a terminal, else a line for every tenth. */
public final class ProgressBar {
  private static final int WIDTH = 30;

  private final boolean terminal = Optional.ofNullable(System.console()).map(Console::isTerminal).orElse(false);
  private int drawn;

  /** Draws what share is done, 0 to 1. */
  public void draw(double done) {
    int tenth = (int) (done * 10);
    if (terminal) {
      int full = (int) Math.round(done * WIDTH);
      System.err.printf("\r[%s%s] %3.0f%%", "#".repeat(full), ".".repeat(WIDTH - full), done * 100);
    } else if (tenth > drawn) {
      System.err.printf("%d0%%%n", tenth);
    }
    drawn = tenth;
  }

  /** All is done. */
  public void end() {
    draw(1);
    if (terminal) {
      System.err.println();
    }
  }
}
