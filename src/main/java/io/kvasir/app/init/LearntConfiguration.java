package io.kvasir.app.init;

import java.util.List;

/**
 * A configuration that engines have told.
 *
 * @param text HOCON, with comments that say where each value was learnt
 * @param summary what was learnt of each engine, in a line or two
 */
public record LearntConfiguration(String text, List<String> summary) {
  /** Copies the list. */
  public LearntConfiguration {
    summary = List.copyOf(summary);
  }
}
