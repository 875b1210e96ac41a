package io.kvasir.app.terminal;

import java.io.PrintStream;
import org.jspecify.annotations.Nullable;

/**
 * Progress of a long command, on standard error: a bar that stays in place on a terminal; a line for every tenth where
 * standard error is a file or a pipe. Thread-safe.
 */
public final class ProgressBar implements AutoCloseable {
  private static final int WIDTH = 30;
  private static final int TENTHS = 10;

  private final String label;
  private final PrintStream out;
  private final boolean terminal;
  private String shown = "";
  private @Nullable String note;
  private int tenths;

  /** The progress of a command's only long step. */
  public ProgressBar() {
    this("");
  }

  /** The progress of a step of this name. */
  public ProgressBar(String label) {
    this(label, System.err, StandardStream.ERROR.isTerminal());
  }

  ProgressBar(String label, PrintStream out, boolean terminal) {
    this.label = label.isEmpty() ? "" : label + " ";
    this.out = out;
    this.terminal = terminal;
  }

  /** Shows what share is done, 0 to 1. */
  public void draw(double done) {
    draw(done, "");
  }

  /** Shows what share is done, 0 to 1, and a note beside it, such as counts. */
  public synchronized void draw(double done, String note) {
    this.note = note;
    double share = Math.clamp(done, 0, 1);
    int reached = (int) (share * TENTHS);
    if (terminal) {
      int full = (int) (share * WIDTH);
      redraw(
          "%s[%s%s] %3d %%%s"
              .formatted(label, "#".repeat(full), ".".repeat(WIDTH - full), (int) (share * 100), noted(note)));
    } else if (reached > tenths) {
      out.printf("%s%d %%%s%n", label, reached * TENTHS, noted(note));
    }
    tenths = Math.max(tenths, reached);
  }

  /** Shows that all is done, with the last note, and ends the line. */
  public synchronized void end() {
    draw(1, note == null ? "" : note);
    startLine();
  }

  /** Ends the bar's line, however far it got. */
  @Override
  public void close() {
    startLine();
  }

  /** Lets other output start on a line of its own; what is drawn later is drawn below it. */
  public synchronized void startLine() {
    if (!shown.isEmpty()) {
      out.println();
      shown = "";
    }
  }

  private void redraw(String line) {
    if (!line.equals(shown)) {
      out.print("\r" + line + " ".repeat(Math.max(0, shown.length() - line.length())));
      out.flush();
      shown = line;
    }
  }

  private static String noted(String note) {
    return note.isEmpty() ? "" : "  " + note;
  }
}
