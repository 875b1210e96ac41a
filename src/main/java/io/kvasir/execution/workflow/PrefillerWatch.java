package io.kvasir.execution.workflow;

import org.jspecify.annotations.Nullable;

/**
 * A watch on the prefill worker whose KV blocks a decode run waits for. Immutable.
 *
 * @param run the decode run's id
 * @param prefiller the prefill worker's id
 * @param checks how often it is checked yet, at most
 */
record PrefillerWatch(int run, String prefiller, int checks) {
  /** An answer that does not stream shows nothing before its end: the run is believed to have its blocks by then. */
  private static final int CHECKS_WITHOUT_STREAM = 5;

  /** A watch that begins. */
  static PrefillerWatch of(int run, String prefiller, boolean stream) {
    return new PrefillerWatch(run, prefiller, stream ? Integer.MAX_VALUE : CHECKS_WITHOUT_STREAM);
  }

  /** What is left after a check; null when that was the last. */
  @Nullable PrefillerWatch next() {
    return checks == 1 ? null : new PrefillerWatch(run, prefiller, checks - 1);
  }
}
