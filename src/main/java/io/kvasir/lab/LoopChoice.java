package io.kvasir.lab;

import java.util.Locale;

/** Whether the turns of recorded conversations wait for the answers before them. */
enum LoopChoice {
  /** As the trace has it: turns with a delay wait, turns with a time do not. */
  TRACE,
  /** Nobody waits: every request comes at its time, whatever happens. */
  OPEN,
  /** Every turn waits for the answer before it, and then as long as its author thought. */
  CLOSED;

  /**
   * Reads a choice as written.
   *
   * @throws IllegalArgumentException naming the choices
   */
  static LoopChoice parse(String written) {
    for (LoopChoice choice : values()) {
      if (choice.toString().equals(written)) {
        return choice;
      }
    }
    throw new IllegalArgumentException("must be trace, open or closed, is " + written);
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
